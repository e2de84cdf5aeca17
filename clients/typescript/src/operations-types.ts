// Generated from the route table by `npm run clients`. Do not edit.
import type { DurationText } from './duration.ts';

/**
 * `ban.created`: A player was banned.
 *
 * `ban.expired`: A ban ended.
 *
 * `mute.created`: A player was muted.
 *
 * `mute.expired`: A mute ended.
 *
 * Scope: `moderation:read`.
 */
export type EventWithPunishment = {
  type?: 'ban.created' | 'ban.expired' | 'mute.created' | 'mute.expired';
  data: Punishment | ErasedEventData;
} & EventEnvelope;

/**
 * `ban.lifted`: A ban was lifted before its end.
 *
 * `mute.lifted`: A mute was lifted before its end.
 *
 * Scope: `moderation:read`.
 */
export type EventWithLiftedPunishmentEvent = {
  type?: 'ban.lifted' | 'mute.lifted';
  data: LiftedPunishmentEvent | ErasedEventData;
} & EventEnvelope;

/**
 * `binding.created`: A role binding was added.
 *
 * `binding.updated`: A role binding was changed.
 *
 * `binding.removed`: A role binding was removed.
 *
 * Any valid key may read it.
 */
export type EventWithBinding = {
  type?: 'binding.created' | 'binding.updated' | 'binding.removed';
  data: Binding | ErasedEventData;
} & EventEnvelope;

/**
 * `key.created`: An API key was created.
 *
 * `key.changed`: An API key was edited or rotated.
 *
 * `key.revoked`: An API key was revoked.
 *
 * `key.expiring`: An API key expires within seven days.
 *
 * `key.leaked`: An API key was found in public; it is revoked by the next event.
 *
 * Scope: `webhooks:read`.
 */
export type EventWithApiKey = {
  type?: 'key.created' | 'key.changed' | 'key.revoked' | 'key.expiring' | 'key.leaked';
  data: ApiKey | ErasedEventData;
} & EventEnvelope;

/**
 * `member.joined`: Somebody joined the guild.
 *
 * `member.left`: A member left the guild.
 *
 * Scope: `members:read`.
 */
export type EventWithMemberEvent = {
  type?: 'member.joined' | 'member.left';
  data: MemberEvent | ErasedEventData;
} & EventEnvelope;

/**
 * `server.online`: A game server came online.
 *
 * `server.offline`: A game server went offline.
 *
 * Scope: `server:read`.
 */
export type EventWithGameServer = {
  type?: 'server.online' | 'server.offline';
  data: GameServer | ErasedEventData;
} & EventEnvelope;

/**
 * `session.started`: A staff session began.
 *
 * `session.ended`: A staff session ended.
 *
 * Scope: `activity:read`.
 */
export type EventWithStaffSession = {
  type?: 'session.started' | 'session.ended';
  data: StaffSession | ErasedEventData;
} & EventEnvelope;

/**
 * `shield.added`: A player was put on the flagged list of the guild.
 *
 * `shield.removed`: A player was taken off the flagged list of the guild, or the entry expired.
 *
 * Scope: `moderation:read`.
 */
export type EventWithShieldEntry = {
  type?: 'shield.added' | 'shield.removed';
  data: ShieldEntry | ErasedEventData;
} & EventEnvelope;

/** A URL to which events are sent */
export type Webhook = {
  id: Uuid;
  guild_id: GuildId;
  /** Where events are sent */
  url: string;
  /** Event types, groups such as `ban.*`, or `*` for all that the key may read */
  types: string[];
  /** Note of its owner */
  description: string | null;
  /** `chat`: a readable message for an incoming webhook of the chat platform */
  format: WebhookFormat;
  /** False: no events are sent */
  enabled: boolean;
  /** `gone`: the receiver responded with 410; `failing`: no delivery succeeded for five days; `key_revoked`: its key was revoked */
  disabled_reason: WebhookDisabledReason | null;
  /** `seq` up to which events were sent, or left out because of their type, or failed and are retried */
  delivered_seq: number;
  /** The first failure since the last success; null if there is none */
  failing_since: TimestampOrNull;
  created_at: Timestamp;
};

/** A ban differed unexpectedly from the game platform; both are made equal. Scope: `moderation:read`. */
export type EventWithBanDriftEvent = {
  type?: 'ban.drifted';
  data: BanDriftEvent | ErasedEventData;
} & EventEnvelope;

/** A ban or mute */
export type Punishment = {
  reason: Reason;
  /** True if it never expires */
  is_permanent: boolean;
} & Decision;

/** A ban or mute that was created */
export type CreatedPunishment = {
  /** Unknown fields of the body, such as misspelt ones; present only if there were any */
  ignored_fields?: string[];
} & Punishment;

/** A ban or mute that was lifted before it expired */
export type Lifted = {
  /** ID of the lifted ban or mute */
  id: number;
  game_id: GameId;
  scope: DecisionScope;
  /** Place ID; null for scope `global` */
  place_id: number | null;
  lifted_at: Timestamp;
};

/** A ban or mute that was lifted before its end */
export type LiftedPunishmentEvent = {
  lifted_at: Timestamp;
} & Punishment;

/** A ban, if any, that differed from the game platform */
export type BanDriftEvent = {
  game_id: GameId;
  universe_id: number;
  place_id: number | null;
  ban_id: number | null;
};

/** A change of roles on the chat platform */
export type MemberRolesEvent = {
  chat_id: ChatId;
  /** Roles that were assigned */
  added: RoleId[];
  /** Roles that were removed */
  removed: RoleId[];
};

/** A chat account was linked with a game account. Scope: `members:read`. */
export type EventWithLinkRecord = {
  type?: 'link.created';
  data: LinkRecord | ErasedEventData;
} & EventEnvelope;

/** A check of the set-up of a guild */
export type GuildCheck = {
  /** Name of the check */
  name: string;
  /** False if something must be done */
  ok: boolean;
  /** What was found */
  message: string;
  /** What to do; advice if the check is ok; null if there is nothing to do */
  fix: string | null;
};

/** A command for a game server */
export type Command = {
  /** Command ID, for the acknowledgement */
  command_id: Uuid;
  /** The command is not delivered after this time; Unix seconds */
  expires_at: Timestamp;
  /** Delivery attempt, starting at 1 */
  attempt: number;
  /** The command is delivered again after this time unless it is acknowledged; Unix seconds */
  lease_expires_at: Timestamp;
} & CommandContent;

/** A command to game servers and its outcome */
export type CommandRecord = {
  /** Command ID */
  command_id: Uuid;
  /** The one server that it is for; null if it is for several */
  server_id: string | null;
  /** The place whose servers it is for; null for one server or every place */
  place_id: number | null;
  state: CommandState;
  /** It is not delivered after this */
  expires_at: Timestamp;
  /** When it was cancelled */
  cancelled_at: TimestampOrNull;
  outcome: CommandOutcome;
} & CommandContent;

/** A command to game servers is finished. Scope: `commands:read`. */
export type EventWithCommandRecord = {
  type?: 'command.finished';
  data: CommandRecord | ErasedEventData;
} & EventEnvelope;

/** A game server and its players, as its last heartbeat described them */
export type GameServerWithPlayers = {
  /** Players in the last heartbeat; null if the server did not report them */
  players: ServerPlayer[] | null;
} & GameServer;

/** A game server, as its last heartbeat described it */
export type GameServer = {
  /** ID of the game server */
  server_id: string;
  /** Place ID of the game */
  place_id: number;
  /** Universe ID of the game */
  universe_id: number | null;
  /** Players on the server */
  player_count: number;
  /** Maximum number of players on the server */
  max_players: number;
  /** Frames per second of the server */
  fps: number | null;
  /** Version of the plugin */
  plugin_version: string | null;
  /** Start of the server; null if it was not reported */
  started_at: TimestampOrNull;
  /** The last heartbeat */
  heartbeat_at: Timestamp;
  /** Until then it counts as live without another heartbeat */
  live_until: Timestamp;
};

/** A job that was started */
export type QueuedJob = {
  /** ID of the job, for `GET /sync/jobs/{jobId}` */
  job_id: Uuid;
  /** Verified members of the guild */
  total: number;
};

/** A lifted ban or mute */
export type LiftedPunishment = {
  /** Lifted entries. This one is the global one, or the newest if none is global */
  lifted_count: number;
} & LiftedPunishmentEvent;

/** A link was removed. Scope: `members:read`. */
export type EventWithUnlinked = {
  type?: 'link.removed';
  data: Unlinked | ErasedEventData;
} & EventEnvelope;

/** A logged action of a staff member */
export type StaffAction = {
  /** The `action_id` */
  id: Uuid;
  /** Game account ID of the staff member */
  actor_game_id: number;
  /** Name of the action */
  action_type: string;
  /** Game account ID of the player concerned */
  target_game_id: number | null;
  /** Place ID of the game */
  place_id: number | null;
  /** ID of the game server */
  server_id: string | null;
  /** Additional data */
  details: {
    [name: string]: unknown;
  } | null;
  /** When it was done */
  occurred_at: Timestamp;
  /** When it was logged */
  created_at: Timestamp;
};

/** A member of the guild */
export type MemberEvent = {
  chat_id: ChatId;
};

/** A member of the guild, with the linked game account */
export type Member = {
  chat_id: ChatId;
  /** Username on the chat platform */
  username: string;
  /** Nickname in this guild */
  nickname: string | null;
  /** Role IDs, without `@everyone` */
  roles: RoleId[];
  /** Unix seconds; null if not available from the chat platform */
  joined_at: TimestampOrNull;
  /** True if a game account is linked */
  verified: boolean;
  /** ID of the linked game account */
  game_id: number | null;
  /** Username of the linked game account */
  game_username: string | null;
};

/** A new webhook with its secret */
export type NewWebhook = {
  secret: WebhookSecret;
} & Webhook;

/** A person with one or both accounts; linked accounts are one person */
export type FoundPerson = {
  chat_id: ChatIdOrNull;
  /** Username on the chat platform; null if unknown */
  chat_username: string | null;
  /** Nickname in this guild */
  nickname: string | null;
  /** Game account ID */
  game_id: number | null;
  /** Username in the game; null if unknown */
  game_username: string | null;
};

/** A player on a game server */
export type ServerPlayer = {
  game_id: GameId;
  /** Username in the game; null if it was not reported */
  username: string | null;
};

/** A positive integer, or a string of its digits */
export type NumericId = number | string;

/** A quota of the guild and its usage */
export type QuotaUse = {
  quota: QuotaName;
  /** Maximum of the guild */
  limit: number;
  /** Current usage */
  used: number;
};

/** A removed link */
export type Unlinked = {
  chat_id: ChatId;
  game_id: GameId;
  unlinked_at: Timestamp;
};

/** A role of the guild on the chat platform */
export type Role = {
  id: RoleId;
  /** Role name */
  name: string;
  /** Position in the role hierarchy: a higher value ranks above a lower one */
  position: number;
  /** RGB color as one integer; 0 if the role has no color */
  color: number;
  /** True if an integration manages the role, so that it cannot be assigned */
  managed: boolean;
  /** True if the bot can assign and remove the role */
  assignable: boolean;
};

/** A role that could not be changed */
export type RoleFailure = {
  role_id: RoleId;
  code: RoleFailureCode;
  /** Explanation for people */
  message: string;
};

/** A role with bindings, and why the member has it or does not */
export type ExplainedRole = {
  role_id: RoleId;
  /** Role name; null if it was deleted */
  role_name: string | null;
  /** True if the member has the role */
  has_role: boolean;
  /** What a sync would do. `none`: the member neither has nor gets the role */
  action: 'add' | 'remove' | 'keep' | 'none';
  /** Why the bot cannot change the role; null if it can */
  blocked: RoleFailure | null;
  bindings: {
    /** Binding ID */
    binding_id: number;
    /** `unknown`: the game platform cannot tell now */
    matches: 'yes' | 'no' | 'unknown';
    code: ReasonCode;
    /** Explanation for people */
    reason: string;
  }[];
};

/** A rule that gives a chat role to members who match it */
export type Binding = {
  /** Binding ID */
  id: number;
  chat_role_id: RoleId;
  /** Role name; null if the role was deleted or the chat platform is not available */
  chat_role_name: string | null;
  /** Group name; null if the group was deleted or the game platform is not available */
  game_group_name: string | null;
  /** Position in the list: lower values come first */
  priority: number | null;
  authority?: BindingAuthority;
  /** Must all match as well */
  conditions?: BindingCondition[];
  /** Template of the nicknames of members who match */
  nickname_template?: string;
} & BindingCondition;

/** A session of a staff member on a game server */
export type StaffSession = {
  session_id: Uuid;
  game_id: GameId;
  /** Username in the game */
  game_username: string | null;
  /** Place ID of the game */
  place_id: number;
  /** ID of the game server */
  server_id: string;
  started_at: Timestamp;
  /** End of the session; null while it is open */
  ended_at: TimestampOrNull;
  /** The last reported total of idle seconds */
  idle_seconds: number;
  /** Reason why it ended; `missed beats` if its heartbeats stopped */
  end_reason: string | null;
};

/** A staff action was logged. Scope: `activity:read`. */
export type EventWithStaffAction = {
  type?: 'staff.action';
  data: StaffAction | ErasedEventData;
} & EventEnvelope;

/** A sync of all members ended. Scope: `members:read`. */
export type EventWithSyncJobFinished = {
  type?: 'sync.job.finished';
  data: SyncJobFinished | ErasedEventData;
} & EventEnvelope;

/** A synchronisation that changed roles of a member, or failed to */
export type RolesChanged = {
  /** Game account ID; null if the member is not linked any more */
  game_id: number | null;
  reason: RolesChangedReason;
} & RoleChanges;

/** A text to show */
export type MessagePayload = {
  /** Text to show */
  text: string;
  [name: string]: unknown;
};

/** A webhook was disabled. Scope: `webhooks:read`. */
export type EventWithWebhook = {
  type?: 'webhook.disabled';
  data: Webhook | ErasedEventData;
} & EventEnvelope;

/** An API key without its secret */
export type ApiKey = {
  /** ID of the key */
  id: string;
  /** The first characters of the key, which are not secret */
  prefix: string;
  guild_id: GuildId;
  /** Name of the key */
  name: string;
  /** Scopes of the key; null for a legacy key, which may use every route */
  scopes: string[] | null;
  /** True if the key was created before scopes existed */
  legacy: boolean;
  /** Addresses and CIDR blocks that may use the key; empty for all */
  ip_allowlist: string[];
  /** Requests per minute; null if the key has no limit of its own */
  rate_limit: number | null;
  created_at: Timestamp;
  /** When it stops to work; null if it does not expire */
  expires_at: TimestampOrNull;
  /** When it was revoked; null if it is not */
  revoked_at: TimestampOrNull;
  /** Until when the replaced secret works; null if there is none */
  rotated_until: TimestampOrNull;
  /** The last use, to within two minutes; null if there is none */
  last_used_at: TimestampOrNull;
};

/** An attempt to send an event */
export type WebhookDelivery = {
  event_id: Uuid;
  /** `seq` of the event */
  seq: number;
  /** Delivery attempt, starting at 1 */
  attempt: number;
  at: Timestamp;
  /** HTTP status; null without a response */
  status: number | null;
  /** Time until the response or the failure */
  latency_ms: number;
  /** Why there was no response */
  error: string | null;
  /** First KiB of the response; null if it was erased with a person that the event named */
  answer: string | null;
  /** When the event is sent again; null after a success or the last attempt */
  next_attempt_at: TimestampOrNull;
};

/** An entry of the flagged list */
export type ShieldEntry = {
  game_id: GameId;
  game_username: GameUsername;
  reason: Reason;
  /** Category of the entry */
  category: string;
  /** Origin of the entry */
  source: string;
  flagged_at: Timestamp;
};

/** An entry of the guild's own flagged list */
export type OwnShieldEntry = {
  game_id: GameId;
  game_username: GameUsername;
  reason: Reason;
  /** Category of the entry */
  category: string;
  /** Origin of the entry */
  source: string;
  flagged_at: Timestamp;
  /** Unix seconds; null if it does not expire */
  expires_at: TimestampOrNull;
};

/** An interval of a report of staff activity */
export type StaffReportInterval = {
  /** First day of the interval in the time zone of the report */
  date: string;
  /** Start of the interval, or of the report if that is later */
  starts_at: Timestamp;
  /** End of the interval, or of the report if that is earlier; exclusive */
  ends_at: Timestamp;
};

/** An invite for one account */
export type Invite = {
  chat_id: ChatId;
  /** Null for a member */
  url: string | null;
  /** Roles that the invite gives */
  role_ids: RoleId[];
  expires_at: TimestampOrNull;
};

/** Chat account ID (snowflake) */
export type ChatId = string;

/** Chat role ID (snowflake) */
export type RoleId = string;

/** Chat roles of a member were added or removed. Scope: `members:read`. */
export type EventWithRolesChanged = {
  type?: 'roles.changed';
  data: RolesChanged | ErasedEventData;
} & EventEnvelope;

/** Counts from 1 in each guild, in the order in which events can be read */
export type EventSeq = number;

/** For every live server */
export type AllServers = true;

/** Game account ID */
export type GameId = number;

/** Game account ID: an integer, or a string of digits */
export type GameIdInput = number | string;

/** Guild ID (snowflake) */
export type GuildId = string;

/** ID that the game server chose for itself, such as its job ID */
export type ServerId = string;

/** Kind of action */
export type ModerationAction = 'ban' | 'unban' | 'mute' | 'unmute';

/** Length of the intervals of a report */
export type StaffReportUnit = 'day' | 'week';

/** Name of the quota, as in `details.quota` of QUOTA_EXCEEDED */
export type QuotaName = 'live_servers' | 'shield_entries' | 'staff_actions_per_day' | 'webhooks';

/** One entry of the moderation log */
export type ModerationLogEntry = {
  action: ModerationAction;
  reason: Reason | null;
  /** Duration in seconds; null if permanent, and for `unban` and `unmute` */
  duration_seconds: number | null;
} & Decision;

/** Pass it as `cursor` to get the next page; null on the last page */
export type NextCursor = string | null;

/** Pass it as `updated_since` of the next request. No change is missed, but a change may be returned twice */
export type ServerTime = Timestamp;

/** Player whom the command concerns */
export type CommandTarget = {
  game_id: GameIdInput;
  game_username?: GameUsernameInput;
};

/** Rate limit category */
export type RateLimitCategory =
  | 'lookup'
  | 'bindings_read'
  | 'bindings_write'
  | 'moderation_check'
  | 'moderation_read'
  | 'moderation_write'
  | 'config_read'
  | 'roblox_activity'
  | 'staff_activity'
  | 'staff_session'
  | 'staff_heartbeat'
  | 'server_heartbeat'
  | 'server_poll'
  | 'server_ack'
  | 'members_read'
  | 'verify_write'
  | 'sync_write'
  | 'events_read'
  | 'webhooks_write'
  | 'activity_read'
  | 'commands_write';

/** Reason as it was sent */
export type Reason = string;

/** Reason code */
export type ReasonCode =
  | 'RANK_IN_RANGE'
  | 'RANK_TOO_LOW'
  | 'RANK_TOO_HIGH'
  | 'NOT_IN_GROUP'
  | 'OWNED'
  | 'NOT_OWNED'
  | 'OLD_ENOUGH'
  | 'TOO_YOUNG'
  | 'VERIFIED'
  | 'NOT_VERIFIED'
  | 'INVENTORY_PRIVATE'
  | 'ACCOUNT_REJECTED'
  | 'PLATFORM_UNAVAILABLE';

/** Reason code */
export type RoleFailureCode =
  | 'ROLE_ABOVE_BOT'
  | 'ROLE_MANAGED'
  | 'ROLE_UNKNOWN'
  | 'MISSING_PERMISSION'
  | 'PLATFORM_ERROR';

/** Reason, for the player or the log of the game */
export type CommandReason = string | null;

/** Replaces the data of events that named a person whose data was erased */
export type ErasedEventData = {
  erased: true;
};

/** Requests of all keys of the guild */
export type RequestUsage = {
  /** Requests of the last 60 minutes by category; categories without requests are left out */
  last_hour: RequestCounts[];
  /** Days with requests among the last 30, newest first */
  days: DailyRequests[];
};

/** Requests of one day */
export type DailyRequests = {
  /** Start of the day (UTC) in Unix seconds */
  day: number;
  /** Requests by category; categories without requests are left out */
  categories: RequestCounts[];
};

/** Requests of one rate limit category */
export type RequestCounts = {
  category: RateLimitCategory;
  /** Requests that were passed on to a service */
  allowed: number;
  /** Requests rejected with 429 by a rate limit, or with 503 because too many were in flight */
  rejected: number;
};

/** Result of the command */
export type AckStatus = 'success' | 'failed' | 'rejected';

/** Roles of a member were changed on the chat platform. Scope: `members:read`. */
export type EventWithMemberRolesEvent = {
  type?: 'member.roles_changed';
  data: MemberRolesEvent | ErasedEventData;
} & EventEnvelope;

/** Rows of one kind */
export type RetainedRows = {
  kind: RetainedKind;
  /** Rows */
  rows: number;
};

/** Seconds, or a text such as `30s`, `5m`, `1h`, `7d` or `permanent`; permanent if omitted */
export type Duration = number | DurationText;

/** Servers by outcome */
export type CommandOutcome = {
  /** Servers that it is for */
  servers: number;
  /** Servers that received it */
  delivered: number;
  /** Servers that acknowledged it with `success` */
  succeeded: number;
  /** Servers that acknowledged it with `failed` */
  failed: number;
  /** Servers that acknowledged it with `rejected` */
  rejected: number;
  /** Servers that did not acknowledge it in time */
  expired: number;
  /** Servers that did not receive it, because it was cancelled */
  cancelled: number;
};

/** Signs the deliveries. It is shown only this once */
export type WebhookSecret = string;

/** Something that happened to the data of a guild, by `type` */
export type Event =
  | EventWithLinkRecord
  | EventWithUnlinked
  | EventWithPunishment
  | EventWithLiftedPunishmentEvent
  | EventWithBanDriftEvent
  | EventWithShieldEntry
  | EventWithBinding
  | EventWithRolesChanged
  | EventWithNicknameChange
  | EventWithMemberEvent
  | EventWithMemberRolesEvent
  | EventWithSyncJobFinished
  | EventWithStaffSession
  | EventWithStaffAction
  | EventWithGameServer
  | EventWithCommandRecord
  | EventWithApiKey
  | EventWithWebhook
  | EventWithErasedPerson;

/** Staff activity by staff member and interval */
export type StaffReport = {
  interval: StaffReportUnit;
  /** Name of the time zone */
  tz: string;
  /** All intervals of the report, the earliest first */
  intervals: StaffReportInterval[];
  /** Staff members who were active, by game account ID */
  staff: StaffReportMember[];
  next_cursor: NextCursor;
};

/** Status of the token: `completed` if it was redeemed */
export type TokenStatus = 'pending' | 'completed' | 'expired';

/** Stored rows. A kind with tens of thousands of rows is accurate to within a tenth, others are exact. */
export type RowUsage = {
  /** All rows */
  total: number;
  /** Rows by kind, all kinds */
  kinds: RetainedRows[];
};

/** The ID of the event; the header `webhook-id` of its deliveries */
export type EventId = string;

/** The accounts whose data mirrors must erase too */
export type ErasedPerson = {
  /** The erased chat account; null if none was given */
  chat_id: ChatIdOrNull;
  /** The erased game account; null if none was given */
  game_id: number | null;
};

/** The active ban; the global one if there are several */
export type BanInfo = {
  /** The moderator's chat account ID, otherwise the game account ID; null if no moderator was given */
  banned_by: string | null;
} & DecisionInfo;

/** The active mute; the global one if there are several */
export type MuteInfo = {
  /** The moderator's chat account ID, otherwise the game account ID; null if no moderator was given */
  muted_by: string | null;
} & DecisionInfo;

/** The activity of a staff member by interval */
export type StaffReportMember = {
  /** Game account ID of the staff member */
  game_id: number;
  /** Counts of each interval in which the staff member was active, the earliest first */
  intervals: StaffReportCounts[];
};

/** The chat or the game platform */
export type Platform = 'chat' | 'game';

/** The data of a person was erased. Scope: `moderation:read`. */
export type EventWithErasedPerson = {
  type?: 'person.erased';
  data: ErasedPerson | ErasedEventData;
} & EventEnvelope;

/** The end of a synchronisation of all members */
export type SyncJobFinished = {
  /** ID of the job, for `GET /sync/jobs/{jobId}`, which also lists its errors */
  job_id: Uuid;
  /** Group ID on the game platform */
  game_group_id: number;
  /** `failed`: see `cause` */
  state: 'done' | 'failed';
  /** Why the job failed; null if it did not */
  cause: {
    /** Explanation for people */
    message: string;
    /** Reason code; `CANCELLED` if an operator cancelled the job */
    code: string;
  } | null;
} & SyncJobProgress;

/** The format in which a webhook receives events */
export type WebhookFormat = 'standard' | 'chat';

/** The former and the new nickname of a member */
export type NicknameChange = {
  chat_id: ChatId;
  /** Nickname in this guild */
  from: string | null;
  /** Nickname in this guild */
  to: string | null;
};

/** The kind of change */
export type LinkAction = 'linked' | 'unlinked';

/** The link between two accounts. May be found for half a second after its removal */
export type LinkRecord = {
  chat_id: ChatId;
  game_id: GameId;
  /** Username in the game */
  game_username: string;
  /** Always true in a returned record */
  verified: boolean;
};

/** The nickname of a member was changed. Scope: `members:read`. */
export type EventWithNicknameChange = {
  type?: 'nickname.changed';
  data: NicknameChange | ErasedEventData;
} & EventEnvelope;

/** The progress of a sync of all members, or of a preview */
export type SyncJob = {
  state: SyncJobState;
  /** The first 100 errors. Then, with `chat_id` null, `ERRORS_LEFT_OUT` with the number left out, and why the job is paused or has failed */
  errors: {
    chat_id: ChatIdOrNull;
    role_id: RoleId | null;
    /** Reason code */
    code: string;
    /** Explanation for people */
    message: string;
  }[];
  result?: PreviewResult;
} & SyncJobProgress;

/** The staff permissions of a player */
export type StaffPermissions = {
  game_id: GameId;
  /** ID of the linked chat account; null if none is linked */
  chat_id: ChatIdOrNull;
  /** True if the member has a staff role */
  is_staff: boolean;
  /** Level of the highest staff role; 0 if the player is not staff */
  level: number;
  /** Name of the staff role with the highest level; null if the player is not staff */
  role_name: string | null;
  /** Permissions of all staff roles of the member, without duplicates */
  permissions: string[];
  /** How many seconds this response may be cached */
  cache_seconds: number;
};

/** The state of a command on one game server */
export type CommandServer = {
  /** ID of the game server */
  server_id: string;
  /** `queued` or `leased` while it waits for an acknowledgement, then the acknowledged status, `expired` or `cancelled` */
  state: 'queued' | 'leased' | 'expired' | 'cancelled' | 'success' | 'failed' | 'rejected';
  /** Deliveries */
  attempt: number;
  /** When it was acknowledged */
  acked_at: TimestampOrNull;
  /** Result that the server reported, or null */
  result: unknown;
  /** Error that the server reported */
  error: string | null;
};

/** Type of the command */
export type CommandType =
  | 'kick'
  | 'ban'
  | 'unban'
  | 'mute'
  | 'unmute'
  | 'message'
  | 'broadcast'
  | 'shutdown'
  | 'custom';

/** UUID */
export type Uuid = string;

/** Unix seconds */
export type Timestamp = number;

/** Unix seconds; null if permanent */
export type DecisionEnd = Timestamp | null;

/** Username in the game */
export type GameUsername = string | null;

/** Username in the game */
export type GameUsernameInput = string | null;

/** What a member must have, with the fields of its type */
export type BindingConditionInput =
  | {
      binding_type: 'group_rank';
      /** Group ID, for `group_rank` */
      game_group_id: NumericId;
      /** Lowest rank that matches, for `group_rank` */
      min_rank: number;
      /** Highest rank that matches for `group_rank`, at least `min_rank` */
      max_rank: number;
    }
  | {
      binding_type: 'gamepass';
      /** Gamepass ID, for `gamepass` */
      game_gamepass_id: NumericId;
    }
  | {
      binding_type: 'asset';
      /** Asset ID, for `asset` */
      game_asset_id: NumericId;
    }
  | {
      binding_type: 'badge';
      /** Badge ID, for `badge` */
      game_badge_id: NumericId;
    }
  | {
      binding_type: 'account_age';
      /** Which account must be old enough, for `account_age` */
      account_age_platform: Platform;
      /** Minimum age of the account in days, for `account_age` */
      account_age_min_days: number;
    }
  | {
      binding_type: 'verified';
    }
  | {
      binding_type: 'unverified';
    };

/** What a member must have. Fields that do not belong to the binding type are null */
export type BindingCondition = {
  binding_type: BindingType;
  /** Group ID, for `group_rank` */
  game_group_id: number | null;
  /** Lowest rank that matches, for `group_rank` */
  min_rank: number | null;
  /** Highest rank that matches, for `group_rank` */
  max_rank: number | null;
  /** Gamepass ID, for `gamepass` */
  gamepass_id: number | null;
  /** Asset ID, for `asset` */
  asset_id: number | null;
  /** Badge ID, for `badge` */
  badge_id: number | null;
  /** Which account must be old enough, for `account_age` */
  account_age_platform: Platform | null;
  /** Minimum age of the account in days, for `account_age` */
  account_age_min_days: number | null;
};

/** What a member must have. `verified`: a linked game account; `unverified`: none */
export type BindingType = 'group_rank' | 'gamepass' | 'asset' | 'badge' | 'account_age' | 'verified' | 'unverified';

/** What a staff member did in an interval */
export type StaffReportCounts = {
  /** First day of the interval in the time zone of the report */
  date: string;
  /** Sessions that started in the interval */
  sessions: number;
  /** Seconds of sessions in the interval, including idle ones */
  seconds: number;
  /** Idle seconds in the interval; those of a session are spread evenly over it */
  idle_seconds: number;
  /** Actions of all types */
  action_count: number;
  /** Actions by type: the first 32 types of a staff member and day (UTC). Further types are only in `action_count` */
  actions: {
    [name: string]: number;
  };
};

/** What a sync of one member changed, or would change */
export type SyncResult = {
  game_id: GameId;
  /** Roles of bindings that the member had and keeps */
  unchanged: RoleId[];
  /** Always null: this route does not change the nickname */
  nickname: null;
  /** Result of the evaluated bindings */
  bindings: {
    /** Bindings that were evaluated */
    evaluated: number;
    /** Bindings that the member matches */
    matched: number;
    /** Bindings that could not be evaluated; their roles are neither assigned nor removed */
    unknown: number;
  };
  /** True for a dry run, which changes nothing */
  dry_run: boolean;
} & RoleChanges;

/** What a sync would change. Only jobs of `POST /bindings/preview` have it */
export type PreviewResult = {
  roles: {
    role_id: RoleId;
    /** Members who would get the role */
    gained: number;
    /** Members who would lose the role */
    lost: number;
    /** Members for whom the game platform cannot tell */
    unknown: number;
  }[];
  /** The first 100 changes */
  members: {
    chat_id: ChatId;
    /** Username on the chat platform */
    username: string;
    role_id: RoleId;
    /** What would change */
    change: 'gained' | 'lost';
  }[];
};

/** What is known about one player */
export type Person = {
  game_id: GameId;
  /** The active ban: the global one, otherwise the newest of a place */
  ban: Punishment | null;
  /** The active mute: the global one, otherwise the newest of a place */
  mute: Punishment | null;
  /** Entry of the flagged list */
  flag: ShieldEntryOrNull;
  /** The newest 20 entries of the moderation log */
  logs: ModerationLogEntry[];
  /** The linked chat account. Scope `lookup:read` */
  link?: LinkRecordOrNull;
  /** The open staff session that started last. Scope `activity:read` */
  session?: StaffSession | null;
  /** The live server that reports the player. Scope `server:read` */
  server?: GameServer | null;
  /** Parts that are left out because the key lacks their scope */
  omitted: ('link' | 'session' | 'server')[];
};

/** What the rows contain */
export type RetainedKind =
  | 'keys'
  | 'audit_entries'
  | 'request_counts'
  | 'links'
  | 'link_history'
  | 'verification_tokens'
  | 'bindings'
  | 'role_grants'
  | 'sync_jobs'
  | 'bans_and_mutes'
  | 'moderation_log'
  | 'shield_entries'
  | 'games'
  | 'servers'
  | 'commands'
  | 'command_deliveries'
  | 'staff_roles'
  | 'staff_sessions'
  | 'staff_actions'
  | 'events'
  | 'webhooks'
  | 'webhook_deliveries'
  | 'stored_responses'
  | 'other';

/** What the service does by itself in a guild */
export type GuildSettings = {
  /** Sync a member whose link changes */
  sync_on_link: boolean;
  /** Sync a linked user who joins */
  sync_on_join: boolean;
  /** Sync a member whose rank in a group of a binding changes */
  sync_on_rank_change: boolean;
  /** Nickname of synced members, as in `POST /sync/nickname`; null for none */
  nickname_template: string | null;
  /** Mirrors bans to the game platform */
  mirror_bans: {
    /** Universes to which bans are mirrored; empty for none */
    universe_ids: number[];
    /** Leave out the player's other accounts */
    exclude_alts: boolean;
  };
  /** Mirror mutes to chat timeouts, and back */
  mirror_timeouts: boolean;
  /** Wake game servers for new commands */
  push_commands: boolean;
  /** Channel of `POST /verification/invite`; null for none */
  invite_channel_id: string | null;
  /** Linked users can join at `/join/{guildId}` of the console */
  oauth_join: boolean;
};

/** When members lose the role who match none of its bindings. `grant`: never; `managed`: if a sync assigned it; `own`: always. If omitted, `own` for verified members, otherwise `managed` */
export type BindingAuthority = 'grant' | 'managed' | 'own';

/** Whether a player is banned, muted or flagged */
export type PlayerStatus = {
  /** True if the player has an active ban */
  banned: boolean;
  ban_info: BanInfo | null;
  /** True if the player has an active mute */
  muted: boolean;
  mute_info: MuteInfo | null;
  /** True if the player is on the flagged list */
  flagged: boolean;
};

/** Whether it applies in all places or in one place */
export type DecisionScope = 'global' | 'place';

/** Whether servers may still execute it */
export type CommandState = 'open' | 'finished' | 'cancelled';

/** Who caused an event */
export type EventSource = {
  kind: EventSourceKind;
  /** The prefix of the API key, the chat ID of a person in the console, the name of an operator or of a service; null for a person if your key has no `moderation:read` */
  id: string | null;
};

/** Who caused the event */
export type EventSourceKind = 'api_key' | 'console' | 'operator' | 'system';

/** Why a webhook is disabled */
export type WebhookDisabledReason = 'requested' | 'operator' | 'gone' | 'failing' | 'key_revoked';

/** Why: `bindings`: the roles follow the bindings; `unlinked`: the member is not linked any more */
export type RolesChangedReason = 'bindings' | 'unlinked';

/** `paused`: a platform or a service is not reachable, and the job continues by itself; `failed`: it was not reachable for a day */
export type SyncJobState = 'queued' | 'running' | 'paused' | 'done' | 'failed';

export type AcknowledgeCommandResult = {
  command_id: Uuid;
  status: AckStatus;
  acked_at: Timestamp;
};

export type BindingAuthorityOrNull = BindingAuthority | null;

export type CancelCommandResult = {
  /** Servers that will not receive it */
  cancelled: number;
};

export type ChatIdOrNull = ChatId | null;

export type CheckShieldBatchResult = {
  /** Entries by requested game account ID; null if the player is not on the flagged list */
  results: {
    [name: string]: ShieldEntryOrNull;
  };
};

export type CheckShieldResult = {
  /** True if the player is on the flagged list */
  flagged: boolean;
  /** Entry of the flagged list; null if the player is not on it */
  entry: ShieldEntryOrNull;
};

export type CommandContent = {
  type: CommandType;
  /** Player whom the command concerns; null if it concerns no single player */
  target: {
    game_id: GameId;
    /** Username in the game */
    game_username: string | null;
  } | null;
  /** Parameters of the command */
  payload: {
    [name: string]: unknown;
  };
  /** Issuer of the command */
  issued_by: string | null;
  created_at: Timestamp;
};

export type CreateVerificationTokenResult = {
  /** Token for use in a link; returned only once */
  token: string;
  /** Code of eight characters for a player to type; returned only once */
  code: string;
  expires_at: Timestamp;
};

export type Decision = {
  /** ID, unique in the guild. A newer entry has a higher ID */
  id: number;
  game_id: GameId;
  game_username: GameUsername;
  /** Game account ID of the moderator */
  moderator_game_id: number | null;
  /** Chat account ID of the moderator */
  moderator_chat_id: ChatIdOrNull;
  scope: DecisionScope;
  /** Place ID; null for scope `global` */
  place_id: number | null;
  created_at: Timestamp;
  expires_at: DecisionEnd;
  /** Game server that the decision came from */
  source_server_id: string | null;
};

export type DecisionInfo = {
  reason: Reason;
  created_at: Timestamp;
  expires_at: DecisionEnd;
  /** True if it never expires */
  is_permanent: boolean;
};

export type DeleteWebhookResult = {
  removed: true;
  id: Uuid;
};

export type EndStaffSessionResult = {
  session_id: Uuid;
  started_at: Timestamp;
  ended_at: Timestamp;
  /** Seconds from start to end */
  duration_seconds: number;
  /** The last reported total of idle seconds */
  idle_seconds: number;
};

export type EventEnvelope = {
  id: EventId;
  guild_id: GuildId;
  seq: EventSeq;
  /** When it happened, in Unix seconds */
  created_at: number;
  source: EventSource;
  /** Set if `data` was cut to keep the event below 20 KB */
  truncated?: true;
  type: string;
  data: unknown;
};

export type ExplainRolesResult = {
  chat_id: ChatId;
  /** ID of the linked game account */
  game_id: number | null;
  /** Username in the game; null if unknown */
  game_username: string | null;
  roles: ExplainedRole[];
};

export type FindPlayerServerResult = {
  /** The server; null if no live server reports the player */
  server: GameServer | null;
};

export type GameIdInputOrNull = GameIdInput | null;

export type GetBanStatusResult = {
  /** True if the player has an active ban */
  banned: boolean;
  ban_info?: BanInfo;
};

export type GetCommandResult = {
  /** A page of its servers, ordered by ID */
  servers: CommandServer[];
  next_cursor: NextCursor;
} & CommandRecord;

export type GetDoctorResult = {
  /** Checks, always in the same order */
  checks: GuildCheck[];
};

export type GetLinkStatusesResult = {
  /** Links by requested ID; null if the user is not verified in the guild */
  results: {
    [name: string]: LinkRecordOrNull;
  };
};

export type GetLinksResult = {
  /** The current link; null if the account is not linked */
  link: LinkRecordOrNull;
  history: {
    action: LinkAction;
    chat_id: ChatId;
    game_id: GameId;
    /** Username in the game */
    game_username: string;
    created_at: Timestamp;
  }[];
};

export type GetMuteStatusResult = {
  /** True if the player has an active mute */
  muted: boolean;
  mute_info?: MuteInfo;
};

export type GetOverviewResult = {
  /** Counts; null if the service that counts did not respond */
  counts: {
    links: number | null;
    bindings: number | null;
    active_bans: number | null;
    active_mutes: number | null;
    flagged_players: number | null;
    live_servers: number | null;
    players: number | null;
    open_staff_sessions: number | null;
    webhooks: number | null;
    failing_webhooks: number | null;
  };
  /** Names of counts that are larger than returned, because counting stops at a limit */
  minimums: string[];
  /** Services that did not respond */
  omitted: string[];
};

export type GetPlayerStatusesResult = {
  /** Status by requested game account ID */
  results: {
    [name: string]: PlayerStatus;
  };
};

export type GetUsageResult = {
  requests: RequestUsage;
  /** Live game servers */
  live_servers: number;
  rows: RowUsage;
  /** Quotas of the guild, by name */
  quotas: QuotaUse[];
};

export type GetVerificationTokenResult = {
  status: TokenStatus;
  chat_id: ChatId;
  /** Game account that redeemed the token; null if it was not redeemed */
  game_id: number | null;
  expires_at: Timestamp;
};

export type LinkRecordOrNull = LinkRecord | null;

export type ListActionsResult = {
  actions: StaffAction[];
  next_cursor: NextCursor;
};

export type ListActiveBansResult = {
  bans: Punishment[];
  server_time: ServerTime;
  /** Entries lifted since `updated_since`, if that was given */
  lifted?: Lifted[];
  next_cursor: NextCursor;
};

export type ListActiveMutesResult = {
  mutes: Punishment[];
  server_time: ServerTime;
  /** Entries lifted since `updated_since`, if that was given */
  lifted?: Lifted[];
  next_cursor: NextCursor;
};

export type ListBindingsResult = {
  bindings: Binding[];
};

export type ListCommandsResult = {
  /** Newest first */
  commands: CommandRecord[];
  next_cursor: NextCursor;
};

export type ListEventsResult = {
  /** Events in the order of `seq` */
  events: Event[];
  /** Value of `after` for the next request: the last `seq` that was examined */
  next_after: number;
  /** The oldest `seq` that is retained; the newest `seq` plus 1 if none is */
  oldest_seq: number;
};

export type ListFlagsResult = {
  flags: OwnShieldEntry[];
  next_cursor: NextCursor;
};

export type ListMembersResult = {
  members: Member[];
  next_cursor: NextCursor;
};

export type ListModerationLogsResult = {
  logs: ModerationLogEntry[];
  next_cursor: NextCursor;
};

export type ListRolesResult = {
  roles: Role[];
};

export type ListServersResult = {
  servers: GameServer[];
  next_cursor: NextCursor;
};

export type ListSessionsResult = {
  sessions: StaffSession[];
  next_cursor: NextCursor;
};

export type ListVerifiedUsersResult = {
  users: LinkRecord[];
  /** Links removed since `updated_since`, if that was given */
  unlinked?: Unlinked[];
  server_time: ServerTime;
  next_cursor: NextCursor;
};

export type ListWebhookDeliveriesResult = {
  deliveries: WebhookDelivery[];
  next_cursor: NextCursor;
};

export type ListWebhooksResult = {
  webhooks: Webhook[];
};

export type LogStaffActionResult = {
  /** The `action_id` */
  id: Uuid;
};

export type NumericIdOrNull = number | string | null;

export type PollCommandsResult = {
  /** Commands, oldest first */
  commands: Command[];
  /** Seconds until the next poll without `wait`; increases with the number of live servers */
  poll_after_seconds: number;
};

export type RegisterGameResult = {
  /** ID of the registration; always the same for the same place */
  registration_id: number;
  /** False if the place was already registered */
  created: boolean;
  /** Intervals for the plugin. Later responses may change them */
  config: {
    /** Seconds between server heartbeats */
    server_heartbeat_seconds: number;
    /** Seconds between staff heartbeats */
    staff_heartbeat_seconds: number;
    /** Seconds between polls for commands */
    poll_seconds: number;
    /** How many seconds staff permissions may be cached */
    permission_cache_seconds: number;
  };
};

export type RemoveBindingResult = {
  removed: true;
  /** ID of the removed binding */
  id: number;
};

export type ResolveNamesResult = {
  /** Usernames of members by chat ID; null if unknown */
  chat_names: {
    [name: string]: string | null;
  };
  /** Usernames by game ID; null if unknown */
  game_names: {
    [name: string]: string | null;
  };
  /** Platforms that did not respond */
  incomplete: ('chat' | 'game')[];
};

export type RoleChanges = {
  chat_id: ChatId;
  /** Roles that were assigned */
  added: RoleId[];
  /** Roles that were removed */
  removed: RoleId[];
  /** Roles that could not be changed */
  failed: RoleFailure[];
};

export type RotateWebhookSecretResult = {
  id: Uuid;
  secret: WebhookSecret;
  /** Until when the previous secret signs too */
  previous_until: Timestamp;
};

export type SearchPeopleResult = {
  people: FoundPerson[];
  /** Platforms that did not respond */
  incomplete: ('chat' | 'game')[];
};

export type SendCommandResult = {
  /** Command ID */
  command_id: Uuid;
  /** Servers that the command is for */
  servers: number;
  /** It is not delivered after this */
  expires_at: Timestamp;
};

export type SendServerHeartbeatResult = {
  server_time: Timestamp;
  /** Seconds until the next heartbeat; increases with the number of live servers */
  next_heartbeat_seconds: number;
  /** Up to 20 commands, oldest first */
  commands: Command[];
  /** MessagingService topic: poll on each message */
  wake_up_topic?: string;
};

export type SendStaffHeartbeatResult = {
  /** IDs of the sessions that stay open */
  active: string[];
  /** IDs of sessions that have ended or do not belong to this server. Start new sessions instead */
  stale: string[];
};

export type ServerIdOrNull = ServerId | null;

export type ShieldEntryOrNull = ShieldEntry | null;

export type StartStaffSessionResult = {
  session_id: Uuid;
  started_at: Timestamp;
  /** True if the user had an open session on this server, which was resumed */
  resumed: boolean;
};

export type SyncJobProgress = {
  /** Verified members of the guild */
  total: number;
  /** Members processed. Users who left the guild are counted at the end */
  done: number;
  /** Members whose roles or nickname changed */
  changed: number;
  /** Members with a role that could not be changed */
  failed: number;
  started_at: TimestampOrNull;
  finished_at: TimestampOrNull;
};

export type TestBindingResult = {
  /** True if the member matches the binding and gets its role */
  matches: boolean;
  /** Explanation for people */
  reason: string;
  /** The member's matching rank, otherwise the highest one; 0 if not in the group */
  user_rank?: number;
};

export type TestWebhookResult = {
  /** HTTP status; null if there was no response */
  status: number | null;
  /** Time until the response in milliseconds */
  latency_ms: number;
  /** First KiB of the response */
  answer: string;
  /** Why there was no response; null if there was */
  error: string | null;
};

export type TimestampOrNull = Timestamp | null;

export type UnflagPlayerResult = {
  removed: true;
  game_id: GameId;
};

export type UnlinkAccountResult = {
  unlinked: true;
  chat_id: ChatId;
  game_id: GameId;
};

export type ValidateBindingResult = {
  /** True if the group exists and has a role in the range, or the range includes 0, the rank of users who are not in the group */
  valid: boolean;
  /** The group ID of the request */
  group_id: number;
  /** Group name; null if the group does not exist */
  group_name: string | null;
  /** Explanation for people; present only if `valid` is false */
  reason?: string;
};

export type WhoamiResult = {
  guild_id: GuildId;
  /** The first characters of the key, which are not secret */
  prefix: string;
  /** Scopes of the key; null for a legacy key, which may use every route */
  scopes: string[] | null;
  /** True if the key was created before scopes existed */
  legacy: boolean;
};

/** Arguments of `getLinkByChatId`. */
export type GetLinkByChatIdArgs = {
  /** Chat account ID (snowflake) */
  chatId: ChatId;
};

/** Arguments of `getLinkByGameId`. */
export type GetLinkByGameIdArgs = {
  /** Game account ID: an integer, or a string of digits */
  gameId: GameIdInput;
};

/** Arguments of `getLinkStatuses`. */
export type GetLinkStatusesArgs =
  | {
      chat_ids: ChatId[];
      game_ids?: null;
    }
  | {
      game_ids: GameIdInput[];
      chat_ids?: null;
    };

/** Arguments of `reverseLookup`. */
export type ReverseLookupArgs =
  | {
      chat_id: ChatId;
      game_id?: null;
    }
  | {
      game_id: GameIdInput;
      chat_id?: null;
    };

/** Arguments of `addBinding`. */
export type AddBindingArgs = {
  chat_role_id: RoleId;
  authority?: BindingAuthorityOrNull;
  /** Must all match as well */
  conditions?: BindingConditionInput[] | null;
  /** Position in the list: lower values come first */
  priority?: number | null;
  /** Template of the nicknames of members who match, as for `POST /sync/nickname` */
  nickname_template?: string | null;
} & (
  | {
      binding_type: 'group_rank';
      /** Group ID, for `group_rank` */
      game_group_id: NumericId;
      /** Lowest rank that matches, for `group_rank` */
      min_rank: number;
      /** Highest rank that matches for `group_rank`, at least `min_rank` */
      max_rank: number;
    }
  | {
      binding_type: 'gamepass';
      /** Gamepass ID, for `gamepass` */
      game_gamepass_id: NumericId;
    }
  | {
      binding_type: 'asset';
      /** Asset ID, for `asset` */
      game_asset_id: NumericId;
    }
  | {
      binding_type: 'badge';
      /** Badge ID, for `badge` */
      game_badge_id: NumericId;
    }
  | {
      binding_type: 'account_age';
      /** Which account must be old enough, for `account_age` */
      account_age_platform: Platform;
      /** Minimum age of the account in days, for `account_age` */
      account_age_min_days: number;
    }
  | {
      binding_type: 'verified';
    }
  | {
      binding_type: 'unverified';
    }
);

/** Arguments of `updateBinding`. */
export type UpdateBindingArgs = {
  /** Binding ID */
  binding_id: NumericId;
  /** Lowest rank that matches */
  min_rank?: number | null;
  /** Highest rank that matches */
  max_rank?: number | null;
  /** New priority; null removes it */
  priority?: number | null;
  authority?: BindingAuthorityOrNull;
  /** Must all match as well */
  conditions?: BindingConditionInput[] | null;
  /** New template of nicknames; null removes it */
  nickname_template?: string | null;
};

/** Arguments of `removeBinding`. */
export type RemoveBindingArgs = {
  /** Binding ID */
  bindingId: NumericId;
};

/** Arguments of `testBinding`. */
export type TestBindingArgs = {
  chat_id: ChatId;
  /** Binding ID */
  binding_id: NumericId;
};

/** Arguments of `validateBinding`. */
export type ValidateBindingArgs = {
  /** Group ID on the game platform */
  game_group_id: NumericId;
  /** Lowest rank that matches */
  min_rank: number;
  /** Highest rank that matches, at least `min_rank` */
  max_rank: number;
};

/** Arguments of `listVerifiedUsers`. */
export type ListVerifiedUsersArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only changes since this time, and adds `unlinked`. Pass the `server_time` of an earlier response */
  updated_since?: number;
};

/** Arguments of `getLinks`. */
export type GetLinksArgs = {
  /** Chat account ID (snowflake) */
  chatId: ChatId;
};

/** Arguments of `createVerificationToken`. */
export type CreateVerificationTokenArgs = {
  chat_id: ChatId;
  /** Lifetime of the token in seconds; 900 if omitted */
  ttl_seconds?: number | null;
};

/** Arguments of `getVerificationToken`. */
export type GetVerificationTokenArgs = {
  /** The `token` that was returned when it was created */
  token: string;
};

/** Arguments of `redeemVerificationToken`. */
export type RedeemVerificationTokenArgs = {
  game_id: GameIdInput;
  /** Username in the game */
  game_username: string;
} & (
  | {
      /** Code as typed by the player. Case, dashes and spaces are ignored */
      code: string;
      token?: null;
    }
  | {
      /** Token from a link, instead of `code` */
      token: string;
      code?: null;
    }
);

/** Arguments of `linkAccount`. */
export type LinkAccountArgs = {
  chat_id: ChatId;
  game_id: GameIdInput;
  /** Username in the game; requested from the game platform if omitted */
  game_username?: GameUsernameInput;
};

/** Arguments of `unlinkAccount`. */
export type UnlinkAccountArgs =
  | {
      chat_id: ChatId;
      game_id?: null;
    }
  | {
      game_id: GameIdInput;
      chat_id?: null;
    };

/** Arguments of `createInvite`. */
export type CreateInviteArgs =
  | {
      chat_id: ChatId;
      game_id?: null;
    }
  | {
      game_id: GameIdInput;
      chat_id?: null;
    };

/** Arguments of `listMembers`. */
export type ListMembersArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only members who have this role */
  role_id?: RoleId;
  /** Only members who have (`true`) or do not have (`false`) a linked game account */
  verified?: 'true' | 'false';
};

/** Arguments of `getMember`. */
export type GetMemberArgs = {
  /** Chat account ID (snowflake) */
  chatId: ChatId;
};

/** Arguments of `updateSettings`. */
export type UpdateSettingsArgs = {
  sync_on_link?: boolean | null;
  sync_on_join?: boolean | null;
  sync_on_rank_change?: boolean | null;
  nickname_template?: string | null;
  mirror_bans?: {
    universe_ids?: NumericId[] | null;
    exclude_alts?: boolean | null;
  } | null;
  mirror_timeouts?: boolean | null;
  push_commands?: boolean | null;
  invite_channel_id?: string | null;
  oauth_join?: boolean | null;
};

/** Arguments of `searchPeople`. */
export type SearchPeopleArgs = {
  /** A chat ID, a game ID, the beginning of a name in the chat, or a whole name in the game */
  query: string;
};

/** Arguments of `resolveNames`. */
export type ResolveNamesArgs = {
  chat_ids?: ChatId[] | null;
  game_ids?: GameIdInput[] | null;
};

/** Arguments of `explainRoles`. */
export type ExplainRolesArgs = {
  /** Chat account ID (snowflake) */
  chatId: ChatId;
};

/** Arguments of `syncRoles`. */
export type SyncRolesArgs = {
  /** If true, only reports what would change */
  dry_run?: boolean | null;
} & (
  | {
      chat_id: ChatId;
      game_id?: null;
    }
  | {
      game_id: GameIdInput;
      chat_id?: null;
    }
);

/** Arguments of `syncGroup`. */
export type SyncGroupArgs = {
  /** Group ID on the game platform */
  game_group_id: NumericId;
};

/** Arguments of `getSyncJob`. */
export type GetSyncJobArgs = {
  /** The `job_id` of the job */
  jobId: Uuid;
};

/** Arguments of `syncNickname`. */
export type SyncNicknameArgs = {
  chat_id: ChatId;
  /** Group ID for `{rank_name}`; the group of the first `group_rank` binding if omitted */
  game_group_id?: NumericIdOrNull;
} & (
  | {
      /** New nickname of at most 32 characters; null removes the nickname */
      nickname: string | null;
      template?: null;
    }
  | {
      /** Template with `{game_username}`, `{chat_username}` and `{rank_name}`, instead of `nickname`. The rank of a user who is not in the group is Guest */
      template: string;
      nickname?: null;
    }
);

/** Arguments of `previewBinding`. */
export type PreviewBindingArgs = {
  /** True to preview its removal */
  remove?: true | null;
  chat_role_id?: RoleId | null;
  authority?: BindingAuthorityOrNull;
  /** Must all match as well */
  conditions?: BindingConditionInput[] | null;
  /** Has no effect on the result */
  priority?: number | null;
} & (
  | {
      /** ID of a stored binding to change or remove */
      binding_id: NumericId;
      /** Lowest rank that matches, for `group_rank` */
      min_rank?: number | null;
      /** Highest rank that matches for `group_rank`, at least `min_rank` */
      max_rank?: number | null;
      binding_type?: null;
    }
  | {
      binding_type: 'group_rank';
      /** Group ID, for `group_rank` */
      game_group_id: NumericId;
      /** Lowest rank that matches, for `group_rank` */
      min_rank: number;
      /** Highest rank that matches for `group_rank`, at least `min_rank` */
      max_rank: number;
    }
  | {
      binding_type: 'gamepass';
      /** Gamepass ID, for `gamepass` */
      game_gamepass_id: NumericId;
    }
  | {
      binding_type: 'asset';
      /** Asset ID, for `asset` */
      game_asset_id: NumericId;
    }
  | {
      binding_type: 'badge';
      /** Badge ID, for `badge` */
      game_badge_id: NumericId;
    }
  | {
      binding_type: 'account_age';
      /** Which account must be old enough, for `account_age` */
      account_age_platform: Platform;
      /** Minimum age of the account in days, for `account_age` */
      account_age_min_days: number;
    }
  | {
      binding_type: 'verified';
    }
  | {
      binding_type: 'unverified';
    }
);

/** Arguments of `getBanStatus`. */
export type GetBanStatusArgs = {
  /** Game account ID: an integer, or a string of digits */
  identifier: GameIdInput;
  /** Place ID; bans and mutes of this place are checked too */
  place_id?: NumericId;
  /** If `true`, the database is read; otherwise the response may be up to 10 s old */
  no_cache?: 'true' | 'false';
};

/** Arguments of `getMuteStatus`. */
export type GetMuteStatusArgs = {
  /** Game account ID: an integer, or a string of digits */
  identifier: GameIdInput;
  /** Place ID; bans and mutes of this place are checked too */
  place_id?: NumericId;
  /** If `true`, the database is read; otherwise the response may be up to 10 s old */
  no_cache?: 'true' | 'false';
};

/** Arguments of `getPlayerStatuses`. */
export type GetPlayerStatusesArgs = {
  game_ids: GameIdInput[];
  /** Place ID of a game: an integer, or a string of digits */
  place_id?: NumericIdOrNull;
};

/** Arguments of `checkShield`. */
export type CheckShieldArgs = {
  /** Game account ID: an integer, or a string of digits */
  gameId: GameIdInput;
};

/** Arguments of `checkShieldBatch`. */
export type CheckShieldBatchArgs = {
  game_ids: GameIdInput[];
};

/** Arguments of `banPlayer`. */
export type BanPlayerArgs = {
  game_id: GameIdInput;
  /** Reason, shown to the player */
  reason: string;
  /** Game account ID of the moderator */
  moderator_game_id?: GameIdInputOrNull;
  /** Chat account ID of the moderator */
  moderator_chat_id?: ChatIdOrNull;
  /** Game server that decided; it receives no command about it */
  source_server_id?: ServerIdOrNull;
  game_username?: GameUsernameInput;
  duration?: Duration | null;
  /** If true, an active entry in that scope is lifted first */
  replace?: boolean | null;
} & (
  | {
      scope?: null;
      place_id?: null;
    }
  | {
      /** Whether it applies in all places or in one place; `global` if omitted */
      scope: 'global';
      place_id?: null;
    }
  | {
      scope: 'place';
      /** Place ID; required for scope `place` */
      place_id: NumericId;
    }
);

/** Arguments of `mutePlayer`. */
export type MutePlayerArgs = {
  game_id: GameIdInput;
  /** Reason, shown to the player */
  reason: string;
  /** Game account ID of the moderator */
  moderator_game_id?: GameIdInputOrNull;
  /** Chat account ID of the moderator */
  moderator_chat_id?: ChatIdOrNull;
  /** Game server that decided; it receives no command about it */
  source_server_id?: ServerIdOrNull;
  game_username?: GameUsernameInput;
  duration?: Duration | null;
  /** If true, an active entry in that scope is lifted first */
  replace?: boolean | null;
} & (
  | {
      scope?: null;
      place_id?: null;
    }
  | {
      /** Whether it applies in all places or in one place; `global` if omitted */
      scope: 'global';
      place_id?: null;
    }
  | {
      scope: 'place';
      /** Place ID; required for scope `place` */
      place_id: NumericId;
    }
);

/** Arguments of `unbanPlayer`. */
export type UnbanPlayerArgs = {
  game_id: GameIdInput;
  /** Reason, for the moderation log */
  reason?: string | null;
  /** Game account ID of the moderator */
  moderator_game_id?: GameIdInputOrNull;
  /** Chat account ID of the moderator */
  moderator_chat_id?: ChatIdOrNull;
  /** Game server that decided; it receives no command about it */
  source_server_id?: ServerIdOrNull;
} & (
  | {
      scope?: null;
      place_id?: null;
    }
  | {
      /** Scope to lift; all active entries are lifted if omitted */
      scope: 'global';
      place_id?: null;
    }
  | {
      scope: 'place';
      /** Place ID; required for scope `place` */
      place_id: NumericId;
    }
);

/** Arguments of `unmutePlayer`. */
export type UnmutePlayerArgs = {
  game_id: GameIdInput;
  /** Reason, for the moderation log */
  reason?: string | null;
  /** Game account ID of the moderator */
  moderator_game_id?: GameIdInputOrNull;
  /** Chat account ID of the moderator */
  moderator_chat_id?: ChatIdOrNull;
  /** Game server that decided; it receives no command about it */
  source_server_id?: ServerIdOrNull;
} & (
  | {
      scope?: null;
      place_id?: null;
    }
  | {
      /** Scope to lift; all active entries are lifted if omitted */
      scope: 'global';
      place_id?: null;
    }
  | {
      scope: 'place';
      /** Place ID; required for scope `place` */
      place_id: NumericId;
    }
);

/** Arguments of `listActiveBans`. */
export type ListActiveBansArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only entries of this player. Not with `updated_since` */
  game_id?: NumericId;
  /** Only entries that apply in this place: global ones and those of the place */
  place_id?: NumericId;
  /** Only changes since this time, and adds `lifted`. Pass the `server_time` of an earlier response */
  updated_since?: number;
};

/** Arguments of `listActiveMutes`. */
export type ListActiveMutesArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only entries of this player. Not with `updated_since` */
  game_id?: NumericId;
  /** Only entries that apply in this place: global ones and those of the place */
  place_id?: NumericId;
  /** Only changes since this time, and adds `lifted`. Pass the `server_time` of an earlier response */
  updated_since?: number;
};

/** Arguments of `listModerationLogs`. */
export type ListModerationLogsArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only entries about this player */
  game_id?: GameIdInput;
  /** Only entries by the moderator with this game account */
  moderator_game_id?: GameIdInput;
  /** Only entries with this action */
  action?: ModerationAction;
  /** At or after this time, in Unix seconds */
  from?: number;
  /** At or before this time, in Unix seconds */
  to?: number;
};

/** Arguments of `flagPlayer`. */
export type FlagPlayerArgs = {
  /** Game account ID: an integer, or a string of digits */
  gameId: GameIdInput;
  /** Reason */
  reason: string;
  /** Category of the entry */
  category: string;
  game_username?: GameUsernameInput;
  /** Unix seconds; without it the player stays flagged until the flag is removed */
  expires_at?: number | null;
};

/** Arguments of `unflagPlayer`. */
export type UnflagPlayerArgs = {
  /** Game account ID: an integer, or a string of digits */
  gameId: GameIdInput;
};

/** Arguments of `listFlags`. */
export type ListFlagsArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
};

/** Arguments of `getPerson`. */
export type GetPersonArgs = {
  /** Game account ID: an integer, or a string of digits */
  gameId: GameIdInput;
};

/** Arguments of `getStaffPermissions`. */
export type GetStaffPermissionsArgs = {
  /** Game account ID: an integer, or a string of digits */
  gameId: GameIdInput;
};

/** Arguments of `registerGame`. */
export type RegisterGameArgs = {
  /** Universe ID of the game that the place belongs to */
  universe_id: NumericId;
  /** Place ID of the game */
  place_id: NumericId;
  /** Name of the game or the place */
  name: string;
  /** Version of the calling plugin */
  plugin_version?: string | null;
};

/** Arguments of `logStaffAction`. */
export type LogStaffActionArgs = {
  /** Game account ID of the staff member */
  actor_game_id: GameIdInput;
  /** Name of the action, chosen by you */
  action_type: string;
  /** Created by you. The same ID is not logged twice */
  action_id: Uuid;
  /** Game account ID of the player concerned */
  target_game_id?: GameIdInputOrNull;
  /** Place ID of the game */
  place_id?: NumericIdOrNull;
  server_id?: ServerIdOrNull;
  /** Additional data: an object of at most 4 KiB as JSON */
  details?: {
    [name: string]: unknown;
  } | null;
  /** Unix seconds; the current time if omitted */
  occurred_at?: Timestamp | null;
};

/** Arguments of `startStaffSession`. */
export type StartStaffSessionArgs = {
  game_id: GameIdInput;
  server_id: ServerId;
  /** Place ID of the game */
  place_id: NumericId;
  game_username?: GameUsernameInput;
};

/** Arguments of `sendStaffHeartbeat`. */
export type SendStaffHeartbeatArgs = {
  server_id: ServerId;
  /** All open sessions of the server */
  sessions: {
    session_id: string;
    /** Total seconds that the user was idle in the session */
    idle_seconds?: number | null;
  }[];
};

/** Arguments of `endStaffSession`. */
export type EndStaffSessionArgs = {
  session_id: Uuid;
  /** Reason why the session ended */
  reason?: string | null;
};

/** Arguments of `sendServerHeartbeat`. */
export type SendServerHeartbeatArgs = {
  server_id: ServerId;
  /** Place ID of the game */
  place_id: NumericId;
  /** Players on the server */
  player_count: number;
  /** Maximum number of players on the server */
  max_players: number;
  /** Universe ID of the game that the place belongs to */
  universe_id?: NumericIdOrNull;
  players?:
    | {
        game_id: GameIdInput;
        username?: GameUsernameInput;
      }[]
    | null;
  /** Frames per second */
  fps?: number | null;
  /** Seconds since the server started */
  age_seconds?: number | null;
  /** Version of the calling plugin */
  plugin_version?: string | null;
  /** Acknowledgements of commands. Unknown and already acknowledged commands are ignored */
  acks?:
    | {
        command_id: Uuid;
        status: AckStatus;
        /** Result data, any JSON value */
        result?: unknown;
        /** Reason why the command failed or was rejected */
        error?: string | null;
      }[]
    | null;
  /** True if the server is shutting down. It is then no longer live */
  final?: boolean | null;
};

/** Arguments of `pollCommands`. */
export type PollCommandsArgs = {
  /** ID that the game server chose for itself, such as its job ID */
  serverId: ServerId;
  /** Maximum number of commands; 20 if omitted */
  limit?: number;
  /** Maximum number of seconds to wait for the first command; 0 if omitted */
  wait?: number;
};

/** Arguments of `acknowledgeCommand`. */
export type AcknowledgeCommandArgs = {
  /** ID that the game server chose for itself, such as its job ID */
  serverId: ServerId;
  /** Command ID */
  commandId: Uuid;
  status: AckStatus;
  /** Result data, any JSON value */
  result?: unknown;
  /** Reason why the command failed or was rejected */
  error?: string | null;
};

/** Arguments of `listSessions`. */
export type ListSessionsArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only sessions of this staff member */
  game_id?: GameIdInput;
  /** At or after this time, in Unix seconds */
  from?: number;
  /** At or before this time, in Unix seconds */
  to?: number;
  /** Only open sessions (`true`) or only ended ones (`false`) */
  open?: 'true' | 'false';
};

/** Arguments of `listActions`. */
export type ListActionsArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only actions of this staff member */
  actor_game_id?: GameIdInput;
  /** Only actions that concern this player */
  target_game_id?: GameIdInput;
  /** Only actions of this type */
  action_type?: string;
  /** At or after this time, in Unix seconds */
  from?: number;
  /** At or before this time, in Unix seconds */
  to?: number;
};

/** Arguments of `getStaffReport`. */
export type GetStaffReportArgs = {
  /** Staff members per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Start in Unix seconds, rounded down to a quarter of an hour */
  from: number;
  /** End in Unix seconds, exclusive, rounded up to a quarter of an hour; at most 92 days after `from` */
  to: number;
  /** Length of the intervals; `day` if omitted. Weeks begin on Monday */
  interval?: StaffReportUnit;
  /** IANA name of the time zone in which days begin; `UTC` if omitted */
  tz?: string;
};

/** Arguments of `listServers`. */
export type ListServersArgs = {
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
  /** Only servers of this place */
  place_id?: NumericId;
};

/** Arguments of `getServer`. */
export type GetServerArgs = {
  /** ID that the game server chose for itself, such as its job ID */
  serverId: ServerId;
};

/** Arguments of `findPlayerServer`. */
export type FindPlayerServerArgs = {
  /** Game account ID: an integer, or a string of digits */
  gameId: GameIdInput;
};

/** Arguments of `sendCommand`. */
export type SendCommandArgs = {
  type: CommandType;
  /** Player whom the command concerns; required for `kick`, `ban`, `unban`, `mute`, `unmute`, `message` */
  target?: CommandTarget | null;
  /** Parameters, by type. At most 8192 bytes as JSON; further fields reach the servers unchanged */
  payload?: {
    [name: string]: unknown;
  } | null;
  /** Lifetime; if omitted, 4 times the heartbeat interval of the servers and at least 120 s */
  ttl_seconds?: number | null;
} & (
  | {
      all: AllServers;
      server_id?: null;
      place_id?: null;
    }
  | {
      /** For this server, live or not */
      server_id: ServerId;
      all?: null;
      place_id?: null;
    }
  | {
      /** For every live server of this place */
      place_id: NumericId;
      all?: null;
      server_id?: null;
    }
) &
  (
    | {
        type: 'kick' | 'unban' | 'unmute';
        target: CommandTarget;
        payload?: {
          reason?: CommandReason;
          [name: string]: unknown;
        } | null;
      }
    | {
        type: 'ban' | 'mute';
        target: CommandTarget;
        payload?: {
          reason?: CommandReason;
          /** Seconds from now */
          duration_seconds?: number | null;
          /** End, in Unix seconds */
          expires_at?: TimestampOrNull;
          /** True if it has no end */
          is_permanent?: boolean | null;
          /** Where it applies: in all places, or in one */
          scope?: 'global' | 'place' | null;
          /** The place, with the scope `place` */
          place_id?: NumericIdOrNull;
          [name: string]: unknown;
        } | null;
      }
    | {
        type: 'message';
        target: CommandTarget;
        payload: MessagePayload;
      }
    | {
        type: 'broadcast';
        payload: MessagePayload;
      }
    | {
        type: 'shutdown';
        payload?: {
          reason?: CommandReason;
          /** Seconds until the server shuts down */
          delay_seconds?: number | null;
          [name: string]: unknown;
        } | null;
      }
    | {
        type: 'custom';
        /** Any fields */
        payload?: {
          [name: string]: unknown;
        } | null;
      }
  );

/** Arguments of `listCommands`. */
export type ListCommandsArgs = {
  /** Only commands in this state */
  state?: 'open' | 'finished' | 'cancelled';
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
};

/** Arguments of `getCommand`. */
export type GetCommandArgs = {
  /** Command ID */
  commandId: Uuid;
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
};

/** Arguments of `cancelCommand`. */
export type CancelCommandArgs = {
  /** Command ID */
  commandId: Uuid;
};

/** Arguments of `listEvents`. */
export type ListEventsArgs = {
  /** Reading starts after this `seq`; at the oldest retained event if omitted */
  after?: number;
  /** Event types or groups of types, separated by commas; all types if omitted */
  types?: string;
  /** Maximum number of events; 100 if omitted */
  limit?: number;
  /** Maximum number of seconds to wait for the first event; 0 if omitted */
  wait?: number;
};

/** Arguments of `streamEvents`. */
export type StreamEventsArgs = {
  /** Reading starts after this `seq`; at the oldest retained event if omitted */
  after?: number;
  /** Event types or groups of types, separated by commas; all types if omitted */
  types?: string;
};

/** Arguments of `createWebhook`. */
export type CreateWebhookArgs = {
  /** HTTPS URL on port 443 or above 1023, without user and password */
  url: string;
  /** Event types, groups such as `ban.*`, or `*` for all that the key may read */
  types: string[];
  /** Note of its owner */
  description?: string | null;
  /** `standard` (default), or `chat` for an incoming webhook of the chat platform */
  format?: WebhookFormat | null;
  /** `now` (default), or the `seq` of the first event to send */
  from?: 'now' | number | null;
};

/** Arguments of `getWebhook`. */
export type GetWebhookArgs = {
  /** Webhook ID */
  id: Uuid;
};

/** Arguments of `updateWebhook`. */
export type UpdateWebhookArgs = {
  /** Webhook ID */
  id: Uuid;
  /** HTTPS URL on port 443 or above 1023, without user and password */
  url?: string | null;
  /** Event types, groups such as `ban.*`, or `*` for all that the key may read */
  types?: string[] | null;
  /** New note; null removes it */
  description?: string | null;
  /** True enables the webhook, false disables it */
  enabled?: boolean | null;
  /** With `enabled: true`: the `seq` of the first event to send, instead of the next one */
  from?: number | null;
};

/** Arguments of `deleteWebhook`. */
export type DeleteWebhookArgs = {
  /** Webhook ID */
  id: Uuid;
};

/** Arguments of `rotateWebhookSecret`. */
export type RotateWebhookSecretArgs = {
  /** Webhook ID */
  id: Uuid;
  /** Seconds in which the previous secret signs too; 86400 by default */
  grace_seconds?: number | null;
};

/** Arguments of `testWebhook`. */
export type TestWebhookArgs = {
  /** Webhook ID */
  id: Uuid;
};

/** Arguments of `listWebhookDeliveries`. */
export type ListWebhookDeliveriesArgs = {
  /** Webhook ID */
  id: Uuid;
  /** Rows per page; 50 if omitted */
  limit?: number;
  /** The `next_cursor` of the previous page */
  cursor?: string;
};

/** Arguments of `replayWebhook`. */
export type ReplayWebhookArgs = {
  /** Webhook ID */
  id: Uuid;
} & (
  | {
      /** `seq` of the first event to send again */
      from: number;
      event_ids?: null;
    }
  | {
      /** IDs of events to send once more */
      event_ids: Uuid[];
      from?: null;
    }
);
