// Generated from the route table by `npm run clients`. Do not edit.
import type { Client } from './client.ts';
import { type StreamEnd, type StreamOptions, streamOf } from './event-stream.ts';
import type { CallOptions, Operation } from './operation.ts';
import type {
  AcknowledgeCommandArgs,
  AcknowledgeCommandResult,
  AddBindingArgs,
  BanPlayerArgs,
  Binding,
  CancelCommandArgs,
  CancelCommandResult,
  CheckShieldArgs,
  CheckShieldBatchArgs,
  CheckShieldBatchResult,
  CheckShieldResult,
  CreatedPunishment,
  CreateInviteArgs,
  CreateVerificationTokenArgs,
  CreateVerificationTokenResult,
  CreateWebhookArgs,
  DeleteWebhookArgs,
  DeleteWebhookResult,
  EndStaffSessionArgs,
  EndStaffSessionResult,
  Event,
  ExplainRolesArgs,
  ExplainRolesResult,
  FindPlayerServerArgs,
  FindPlayerServerResult,
  FlagPlayerArgs,
  GameServerWithPlayers,
  GetBanStatusArgs,
  GetBanStatusResult,
  GetCommandArgs,
  GetCommandResult,
  GetDoctorResult,
  GetLinkByChatIdArgs,
  GetLinkByGameIdArgs,
  GetLinkStatusesArgs,
  GetLinkStatusesResult,
  GetLinksArgs,
  GetLinksResult,
  GetMemberArgs,
  GetMuteStatusArgs,
  GetMuteStatusResult,
  GetOverviewResult,
  GetPersonArgs,
  GetPlayerStatusesArgs,
  GetPlayerStatusesResult,
  GetServerArgs,
  GetStaffPermissionsArgs,
  GetStaffReportArgs,
  GetSyncJobArgs,
  GetUsageResult,
  GetVerificationTokenArgs,
  GetVerificationTokenResult,
  GetWebhookArgs,
  GuildSettings,
  Invite,
  LiftedPunishment,
  LinkAccountArgs,
  LinkRecord,
  ListActionsArgs,
  ListActionsResult,
  ListActiveBansArgs,
  ListActiveBansResult,
  ListActiveMutesArgs,
  ListActiveMutesResult,
  ListBindingsResult,
  ListCommandsArgs,
  ListCommandsResult,
  ListEventsArgs,
  ListEventsResult,
  ListFlagsArgs,
  ListFlagsResult,
  ListMembersArgs,
  ListMembersResult,
  ListModerationLogsArgs,
  ListModerationLogsResult,
  ListRolesResult,
  ListServersArgs,
  ListServersResult,
  ListSessionsArgs,
  ListSessionsResult,
  ListVerifiedUsersArgs,
  ListVerifiedUsersResult,
  ListWebhookDeliveriesArgs,
  ListWebhookDeliveriesResult,
  ListWebhooksResult,
  LogStaffActionArgs,
  LogStaffActionResult,
  Member,
  MutePlayerArgs,
  NewWebhook,
  NicknameChange,
  OwnShieldEntry,
  Person,
  PollCommandsArgs,
  PollCommandsResult,
  PreviewBindingArgs,
  QueuedJob,
  RedeemVerificationTokenArgs,
  RegisterGameArgs,
  RegisterGameResult,
  RemoveBindingArgs,
  RemoveBindingResult,
  ReplayWebhookArgs,
  ResolveNamesArgs,
  ResolveNamesResult,
  ReverseLookupArgs,
  RotateWebhookSecretArgs,
  RotateWebhookSecretResult,
  SearchPeopleArgs,
  SearchPeopleResult,
  SendCommandArgs,
  SendCommandResult,
  SendServerHeartbeatArgs,
  SendServerHeartbeatResult,
  SendStaffHeartbeatArgs,
  SendStaffHeartbeatResult,
  StaffPermissions,
  StaffReport,
  StartStaffSessionArgs,
  StartStaffSessionResult,
  StreamEventsArgs,
  SyncGroupArgs,
  SyncJob,
  SyncNicknameArgs,
  SyncResult,
  SyncRolesArgs,
  TestBindingArgs,
  TestBindingResult,
  TestWebhookArgs,
  TestWebhookResult,
  UnbanPlayerArgs,
  UnflagPlayerArgs,
  UnflagPlayerResult,
  UnlinkAccountArgs,
  UnlinkAccountResult,
  UnmutePlayerArgs,
  UpdateBindingArgs,
  UpdateSettingsArgs,
  UpdateWebhookArgs,
  ValidateBindingArgs,
  ValidateBindingResult,
  Webhook,
  WhoamiResult,
} from './operations-types.ts';
import { pagesOf } from './pages.ts';

const WHOAMI: Operation = {
  name: 'whoami',
  method: 'GET',
  path: '/api/v1/whoami',
  guild: 'header',
  hasBody: false,
  writes: false,
};

/** Get the guild and scopes of the API key. */
export function whoami(client: Client, options?: CallOptions): Promise<WhoamiResult> {
  return client.request(WHOAMI, {}, options);
}

const GET_LINK_BY_CHAT_ID: Operation = {
  name: 'getLinkByChatId',
  method: 'GET',
  path: '/api/v1/lookup/chat/{chatId}',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'lookup', requests: 60 },
};

/**
 * Look up the game account of a chat account.
 *
 * The key needs the scope `lookup:read`.
 */
export function getLinkByChatId(client: Client, args: GetLinkByChatIdArgs, options?: CallOptions): Promise<LinkRecord> {
  return client.request(GET_LINK_BY_CHAT_ID, args, options);
}

const GET_LINK_BY_GAME_ID: Operation = {
  name: 'getLinkByGameId',
  method: 'GET',
  path: '/api/v1/lookup/game/{gameId}',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'lookup', requests: 60 },
};

/**
 * Look up the chat account of a game account.
 *
 * The key needs the scope `lookup:read`.
 */
export function getLinkByGameId(client: Client, args: GetLinkByGameIdArgs, options?: CallOptions): Promise<LinkRecord> {
  return client.request(GET_LINK_BY_GAME_ID, args, options);
}

const GET_LINK_STATUSES: Operation = {
  name: 'getLinkStatuses',
  method: 'POST',
  path: '/api/v1/lookup/status',
  guild: 'body',
  hasBody: true,
  writes: false,
  limit: { category: 'lookup', requests: 60 },
};

/**
 * Look up the links of up to 25 users.
 *
 * The key needs the scope `lookup:read`.
 */
export function getLinkStatuses(
  client: Client,
  args: GetLinkStatusesArgs,
  options?: CallOptions,
): Promise<GetLinkStatusesResult> {
  return client.request(GET_LINK_STATUSES, args, options);
}

const REVERSE_LOOKUP: Operation = {
  name: 'reverseLookup',
  method: 'POST',
  path: '/api/v1/reverse',
  guild: 'body',
  hasBody: true,
  writes: false,
  limit: { category: 'lookup', requests: 60 },
};

/**
 * Look up a link by chat or game account.
 *
 * The key needs the scope `lookup:read`.
 */
export function reverseLookup(client: Client, args: ReverseLookupArgs, options?: CallOptions): Promise<LinkRecord> {
  return client.request(REVERSE_LOOKUP, args, options);
}

const LIST_BINDINGS: Operation = {
  name: 'listBindings',
  method: 'GET',
  path: '/api/v1/bindings/list',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'bindings_read', requests: 100 },
};

/**
 * List role bindings.
 *
 * Ordered by priority, then by ID. Bindings without a priority come last.
 */
export function listBindings(client: Client, options?: CallOptions): Promise<ListBindingsResult> {
  return client.request(LIST_BINDINGS, {}, options);
}

const ADD_BINDING: Operation = {
  name: 'addBinding',
  method: 'POST',
  path: '/api/v1/bindings/add',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'bindings_write', requests: 30 },
};

/**
 * Add a role binding.
 *
 * Gives a chat role to members with matching game data at the next sync. It is saved only if the role and its target exist on their platforms. Fields that the type does not use are validated and ignored.
 */
export function addBinding(client: Client, args: AddBindingArgs, options?: CallOptions): Promise<Binding> {
  return client.request(ADD_BINDING, args, options);
}

const UPDATE_BINDING: Operation = {
  name: 'updateBinding',
  method: 'PATCH',
  path: '/api/v1/bindings/update',
  guild: 'header',
  hasBody: true,
  writes: true,
  limit: { category: 'bindings_write', requests: 30 },
};

/**
 * Update a binding's rank range, priority, conditions or authority.
 *
 * Omitted fields, and ranks, conditions and an authority that are null, stay unchanged. Only a `group_rank` binding has ranks.
 */
export function updateBinding(client: Client, args: UpdateBindingArgs, options?: CallOptions): Promise<Binding> {
  return client.request(UPDATE_BINDING, args, options);
}

const REMOVE_BINDING: Operation = {
  name: 'removeBinding',
  method: 'DELETE',
  path: '/api/v1/bindings/remove/{bindingId}',
  guild: 'header',
  hasBody: false,
  writes: true,
  limit: { category: 'bindings_write', requests: 30 },
};

/**
 * Remove a binding.
 *
 * Members keep the role until the next sync.
 */
export function removeBinding(
  client: Client,
  args: RemoveBindingArgs,
  options?: CallOptions,
): Promise<RemoveBindingResult> {
  return client.request(REMOVE_BINDING, args, options);
}

const TEST_BINDING: Operation = {
  name: 'testBinding',
  method: 'POST',
  path: '/api/v1/bindings/test',
  guild: 'body',
  hasBody: true,
  writes: false,
  limit: { category: 'bindings_write', requests: 30 },
};

/**
 * Test a binding for a member.
 *
 * For bindings of type `group_rank`, `verified` and `unverified`.
 */
export function testBinding(client: Client, args: TestBindingArgs, options?: CallOptions): Promise<TestBindingResult> {
  return client.request(TEST_BINDING, args, options);
}

const VALIDATE_BINDING: Operation = {
  name: 'validateBinding',
  method: 'POST',
  path: '/api/v1/bindings/validate',
  guild: 'header',
  hasBody: true,
  writes: false,
  limit: { category: 'bindings_write', requests: 30 },
};

/**
 * Validate a binding configuration.
 *
 * Checks that the group exists and the range can match. Nothing is saved.
 */
export function validateBinding(
  client: Client,
  args: ValidateBindingArgs,
  options?: CallOptions,
): Promise<ValidateBindingResult> {
  return client.request(VALIDATE_BINDING, args, options);
}

const LIST_VERIFIED_USERS: Operation = {
  name: 'listVerifiedUsers',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/verified',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * List verified users.
 *
 * With `updated_since`, the pages hold the users who were linked (`users`) and unlinked (`unlinked`) since then, in order. An entry of `unlinked` removes exactly that pair: each account may have a new link by now.
 *
 * The key needs the scope `members:read`.
 */
export function listVerifiedUsers(
  client: Client,
  args: ListVerifiedUsersArgs = {},
  options?: CallOptions,
): Promise<ListVerifiedUsersResult> {
  return client.request(LIST_VERIFIED_USERS, args, options);
}

/** The pages of `listVerifiedUsers`, one after the other, from `cursor` on. */
export function listVerifiedUsersPages(
  client: Client,
  args: ListVerifiedUsersArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListVerifiedUsersResult, void, void> {
  return pagesOf((page: ListVerifiedUsersArgs) => listVerifiedUsers(client, page, options), args);
}

const GET_LINKS: Operation = {
  name: 'getLinks',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/links/{chatId}',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * Get a chat account's link and link history.
 *
 * The history has the newest 100 changes, newest first.
 *
 * The key needs the scope `members:read`.
 */
export function getLinks(client: Client, args: GetLinksArgs, options?: CallOptions): Promise<GetLinksResult> {
  return client.request(GET_LINKS, args, options);
}

const CREATE_VERIFICATION_TOKEN: Operation = {
  name: 'createVerificationToken',
  method: 'POST',
  path: '/api/v1/verification/tokens',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'verify_write', requests: 50 },
};

/**
 * Create a verification token.
 *
 * The player enters the code in the game, or follows a link with the token, to prove who owns the game account.
 *
 * The key needs the scope `verify:write`.
 */
export function createVerificationToken(
  client: Client,
  args: CreateVerificationTokenArgs,
  options?: CallOptions,
): Promise<CreateVerificationTokenResult> {
  return client.request(CREATE_VERIFICATION_TOKEN, args, options);
}

const GET_VERIFICATION_TOKEN: Operation = {
  name: 'getVerificationToken',
  method: 'GET',
  path: '/api/v1/verification/tokens/{token}',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * Get the status of a verification token.
 *
 * The key needs the scope `verify:write`.
 */
export function getVerificationToken(
  client: Client,
  args: GetVerificationTokenArgs,
  options?: CallOptions,
): Promise<GetVerificationTokenResult> {
  return client.request(GET_VERIFICATION_TOKEN, args, options);
}

const REDEEM_VERIFICATION_TOKEN: Operation = {
  name: 'redeemVerificationToken',
  method: 'POST',
  path: '/api/v1/verification/redeem',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'verify_write', requests: 50 },
};

/**
 * Redeem a verification code or token.
 *
 * Call it from the game server, which knows the game account of the player.
 *
 * The key needs the scope `verify:write`.
 */
export function redeemVerificationToken(
  client: Client,
  args: RedeemVerificationTokenArgs,
  options?: CallOptions,
): Promise<LinkRecord> {
  return client.request(REDEEM_VERIFICATION_TOKEN, args, options);
}

const LINK_ACCOUNT: Operation = {
  name: 'linkAccount',
  method: 'POST',
  path: '/api/v1/verification/link',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'verify_write', requests: 50 },
};

/**
 * Link a chat account to a game account.
 *
 * Links the accounts without a verification code.
 *
 * The key needs the scope `verify:write`.
 */
export function linkAccount(client: Client, args: LinkAccountArgs, options?: CallOptions): Promise<LinkRecord> {
  return client.request(LINK_ACCOUNT, args, options);
}

const UNLINK_ACCOUNT: Operation = {
  name: 'unlinkAccount',
  method: 'POST',
  path: '/api/v1/verification/unlink',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'verify_write', requests: 50 },
};

/**
 * Unlink a chat account from a game account.
 *
 * Also removes the roles that bindings gave to the member. Roles that cannot be removed within three seconds are removed later.
 *
 * The key needs the scope `verify:write`.
 */
export function unlinkAccount(
  client: Client,
  args: UnlinkAccountArgs,
  options?: CallOptions,
): Promise<UnlinkAccountResult> {
  return client.request(UNLINK_ACCOUNT, args, options);
}

const CREATE_INVITE: Operation = {
  name: 'createInvite',
  method: 'POST',
  path: '/api/v1/verification/invite',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'verify_write', requests: 50 },
};

/**
 * Invite a linked user, with roles.
 *
 * Only the linked chat account can accept it, once, within an hour. The same invite is returned for a minute.
 *
 * The key needs the scope `verify:write`.
 */
export function createInvite(client: Client, args: CreateInviteArgs, options?: CallOptions): Promise<Invite> {
  return client.request(CREATE_INVITE, args, options);
}

const LIST_MEMBERS: Operation = {
  name: 'listMembers',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/members',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * List guild members.
 *
 * Ordered by chat ID, without the bot. The data is up to 10 s old.
 *
 * The key needs the scope `members:read`.
 */
export function listMembers(
  client: Client,
  args: ListMembersArgs = {},
  options?: CallOptions,
): Promise<ListMembersResult> {
  return client.request(LIST_MEMBERS, args, options);
}

/** The pages of `listMembers`, one after the other, from `cursor` on. */
export function listMembersPages(
  client: Client,
  args: ListMembersArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListMembersResult, void, void> {
  return pagesOf((page: ListMembersArgs) => listMembers(client, page, options), args);
}

const GET_MEMBER: Operation = {
  name: 'getMember',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/members/{chatId}',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * Get a guild member.
 *
 * Reads the current data from the chat platform.
 *
 * The key needs the scope `members:read`.
 */
export function getMember(client: Client, args: GetMemberArgs, options?: CallOptions): Promise<Member> {
  return client.request(GET_MEMBER, args, options);
}

const LIST_ROLES: Operation = {
  name: 'listRoles',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/roles',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'config_read', requests: 100 },
};

/**
 * List guild roles.
 *
 * Ordered from highest to lowest, without `@everyone`. The data is up to a minute old.
 */
export function listRoles(client: Client, options?: CallOptions): Promise<ListRolesResult> {
  return client.request(LIST_ROLES, {}, options);
}

const GET_SETTINGS: Operation = {
  name: 'getSettings',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/settings',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'config_read', requests: 100 },
};

/**
 * Get the settings of the guild.
 *
 * All are off, except `sync_on_link`, until they are changed.
 *
 * The key needs the scope `sync:read`.
 */
export function getSettings(client: Client, options?: CallOptions): Promise<GuildSettings> {
  return client.request(GET_SETTINGS, {}, options);
}

const UPDATE_SETTINGS: Operation = {
  name: 'updateSettings',
  method: 'PATCH',
  path: '/api/v1/guilds/{guildId}/settings',
  guild: 'path',
  hasBody: true,
  writes: true,
  limit: { category: 'sync_write', requests: 30 },
};

/**
 * Change settings of the guild.
 *
 * Omitted fields stay unchanged. Takes effect within 10 s. Changes no member: use `POST /sync/group`.
 *
 * The key needs the scope `sync:write`.
 */
export function updateSettings(
  client: Client,
  args: UpdateSettingsArgs = {},
  options?: CallOptions,
): Promise<GuildSettings> {
  return client.request(UPDATE_SETTINGS, args, options);
}

const SEARCH_PEOPLE: Operation = {
  name: 'searchPeople',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/people',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * Search people by ID or name.
 *
 * Returns at most 25 people, exact matches first.
 *
 * The key needs the scope `members:read`.
 */
export function searchPeople(
  client: Client,
  args: SearchPeopleArgs,
  options?: CallOptions,
): Promise<SearchPeopleResult> {
  return client.request(SEARCH_PEOPLE, args, options);
}

const RESOLVE_NAMES: Operation = {
  name: 'resolveNames',
  method: 'POST',
  path: '/api/v1/guilds/{guildId}/names',
  guild: 'path',
  hasBody: true,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * Resolve the names of up to 100 chat and game IDs.
 *
 * Names may be an hour old.
 *
 * The key needs the scope `members:read`.
 */
export function resolveNames(
  client: Client,
  args: ResolveNamesArgs = {},
  options?: CallOptions,
): Promise<ResolveNamesResult> {
  return client.request(RESOLVE_NAMES, args, options);
}

const EXPLAIN_ROLES: Operation = {
  name: 'explainRoles',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/members/{chatId}/roles',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * Explain the roles of a member binding by binding.
 *
 * Every role that has a binding or that a sync assigned.
 *
 * The key needs the scope `members:read`.
 */
export function explainRoles(
  client: Client,
  args: ExplainRolesArgs,
  options?: CallOptions,
): Promise<ExplainRolesResult> {
  return client.request(EXPLAIN_ROLES, args, options);
}

const SYNC_ROLES: Operation = {
  name: 'syncRoles',
  method: 'POST',
  path: '/api/v1/sync/roles',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'sync_write', requests: 30 },
};

/**
 * Sync a member's roles with the role bindings.
 *
 * A role is assigned if the member matches one of its bindings. A role with a binding, or that an earlier sync assigned, is removed if the member matches none, all could be evaluated, and their `authority` allows it. Repeating the call changes nothing.
 *
 * The key needs the scope `sync:write`.
 */
export function syncRoles(client: Client, args: SyncRolesArgs, options?: CallOptions): Promise<SyncResult> {
  return client.request(SYNC_ROLES, args, options);
}

const SYNC_GROUP: Operation = {
  name: 'syncGroup',
  method: 'POST',
  path: '/api/v1/sync/group',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'sync_write', requests: 30 },
};

/**
 * Sync the roles of all verified members for a game group.
 *
 * Syncs the roles with a binding to this group, or with a `verified` or `unverified` binding, by all their bindings. An unfinished job of the group is returned instead.
 *
 * The key needs the scope `sync:write`.
 */
export function syncGroup(client: Client, args: SyncGroupArgs, options?: CallOptions): Promise<QueuedJob> {
  return client.request(SYNC_GROUP, args, options);
}

const GET_SYNC_JOB: Operation = {
  name: 'getSyncJob',
  method: 'GET',
  path: '/api/v1/sync/jobs/{jobId}',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'members_read', requests: 100 },
};

/**
 * Get the progress of a sync job.
 *
 * A job is deleted 30 days after its end.
 *
 * The key needs the scope `sync:write`.
 */
export function getSyncJob(client: Client, args: GetSyncJobArgs, options?: CallOptions): Promise<SyncJob> {
  return client.request(GET_SYNC_JOB, args, options);
}

const SYNC_NICKNAME: Operation = {
  name: 'syncNickname',
  method: 'POST',
  path: '/api/v1/sync/nickname',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'sync_write', requests: 30 },
};

/**
 * Set or remove a member's nickname.
 *
 * Sets the nickname to a text or to the result of a template.
 *
 * The key needs the scope `sync:write`.
 */
export function syncNickname(client: Client, args: SyncNicknameArgs, options?: CallOptions): Promise<NicknameChange> {
  return client.request(SYNC_NICKNAME, args, options);
}

const PREVIEW_BINDING: Operation = {
  name: 'previewBinding',
  method: 'POST',
  path: '/api/v1/bindings/preview',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'bindings_write', requests: 30 },
};

/**
 * Preview what a binding would do to all members.
 *
 * Starts a job. Nothing is changed. A newer preview of the guild ends an unfinished one.
 */
export function previewBinding(client: Client, args: PreviewBindingArgs, options?: CallOptions): Promise<QueuedJob> {
  return client.request(PREVIEW_BINDING, args, options);
}

const GET_BAN_STATUS: Operation = {
  name: 'getBanStatus',
  method: 'GET',
  path: '/api/v1/moderation/{guildId}/ban-status/{identifier}',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_check', requests: 300 },
};

/**
 * Get a player's ban status.
 *
 * Without `place_id` only global bans are checked. A change is visible in all responses within 500 ms.
 *
 * The key needs the scope `moderation:read`.
 */
export function getBanStatus(
  client: Client,
  args: GetBanStatusArgs,
  options?: CallOptions,
): Promise<GetBanStatusResult> {
  return client.request(GET_BAN_STATUS, args, options);
}

const GET_MUTE_STATUS: Operation = {
  name: 'getMuteStatus',
  method: 'GET',
  path: '/api/v1/moderation/{guildId}/mute-status/{identifier}',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_check', requests: 300 },
};

/**
 * Get a player's mute status.
 *
 * Without `place_id` only global mutes are checked. A change is visible in all responses within 500 ms.
 *
 * The key needs the scope `moderation:read`.
 */
export function getMuteStatus(
  client: Client,
  args: GetMuteStatusArgs,
  options?: CallOptions,
): Promise<GetMuteStatusResult> {
  return client.request(GET_MUTE_STATUS, args, options);
}

const GET_PLAYER_STATUSES: Operation = {
  name: 'getPlayerStatuses',
  method: 'POST',
  path: '/api/v1/moderation/{guildId}/game/status',
  guild: 'path',
  hasBody: true,
  writes: false,
  limit: { category: 'moderation_check', requests: 300 },
};

/**
 * Get the moderation status of up to 25 players.
 *
 * Bans, mutes and the flagged list in one request.
 *
 * The key needs the scope `moderation:read`.
 */
export function getPlayerStatuses(
  client: Client,
  args: GetPlayerStatusesArgs,
  options?: CallOptions,
): Promise<GetPlayerStatusesResult> {
  return client.request(GET_PLAYER_STATUSES, args, options);
}

const CHECK_SHIELD: Operation = {
  name: 'checkShield',
  method: 'GET',
  path: '/api/v1/shield/check/{gameId}',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_check', requests: 300 },
};

/**
 * Check whether a player is on the flagged list.
 *
 * If the player has an entry of the guild and one for all guilds, the guild's own is returned.
 *
 * The key needs the scope `moderation:read`.
 */
export function checkShield(client: Client, args: CheckShieldArgs, options?: CallOptions): Promise<CheckShieldResult> {
  return client.request(CHECK_SHIELD, args, options);
}

const CHECK_SHIELD_BATCH: Operation = {
  name: 'checkShieldBatch',
  method: 'POST',
  path: '/api/v1/shield/batch',
  guild: 'body',
  hasBody: true,
  writes: false,
  limit: { category: 'moderation_check', requests: 300 },
};

/**
 * Check whether up to 25 players are on the flagged list.
 *
 * The key needs the scope `moderation:read`.
 */
export function checkShieldBatch(
  client: Client,
  args: CheckShieldBatchArgs,
  options?: CallOptions,
): Promise<CheckShieldBatchResult> {
  return client.request(CHECK_SHIELD_BATCH, args, options);
}

const BAN_PLAYER: Operation = {
  name: 'banPlayer',
  method: 'POST',
  path: '/api/v1/moderation/{guildId}/game/ban',
  guild: 'path',
  hasBody: true,
  writes: true,
  limit: { category: 'moderation_write', requests: 50 },
};

/**
 * Ban a player.
 *
 * Live servers in its scope get a command.
 *
 * The key needs the scope `moderation:write`.
 */
export function banPlayer(client: Client, args: BanPlayerArgs, options?: CallOptions): Promise<CreatedPunishment> {
  return client.request(BAN_PLAYER, args, options);
}

const MUTE_PLAYER: Operation = {
  name: 'mutePlayer',
  method: 'POST',
  path: '/api/v1/moderation/{guildId}/game/mute',
  guild: 'path',
  hasBody: true,
  writes: true,
  limit: { category: 'moderation_write', requests: 50 },
};

/**
 * Mute a player.
 *
 * Live servers in its scope get a command.
 *
 * The key needs the scope `moderation:write`.
 */
export function mutePlayer(client: Client, args: MutePlayerArgs, options?: CallOptions): Promise<CreatedPunishment> {
  return client.request(MUTE_PLAYER, args, options);
}

const UNBAN_PLAYER: Operation = {
  name: 'unbanPlayer',
  method: 'POST',
  path: '/api/v1/moderation/{guildId}/game/unban',
  guild: 'path',
  hasBody: true,
  writes: true,
  limit: { category: 'moderation_write', requests: 50 },
};

/**
 * Unban a player.
 *
 * Live servers in its scope get a command.
 *
 * The key needs the scope `moderation:write`.
 */
export function unbanPlayer(client: Client, args: UnbanPlayerArgs, options?: CallOptions): Promise<LiftedPunishment> {
  return client.request(UNBAN_PLAYER, args, options);
}

const UNMUTE_PLAYER: Operation = {
  name: 'unmutePlayer',
  method: 'POST',
  path: '/api/v1/moderation/{guildId}/game/unmute',
  guild: 'path',
  hasBody: true,
  writes: true,
  limit: { category: 'moderation_write', requests: 50 },
};

/**
 * Unmute a player.
 *
 * Live servers in its scope get a command.
 *
 * The key needs the scope `moderation:write`.
 */
export function unmutePlayer(client: Client, args: UnmutePlayerArgs, options?: CallOptions): Promise<LiftedPunishment> {
  return client.request(UNMUTE_PLAYER, args, options);
}

const LIST_ACTIVE_BANS: Operation = {
  name: 'listActiveBans',
  method: 'GET',
  path: '/api/v1/moderation/{guildId}/game/bans/active',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_read', requests: 100 },
};

/**
 * List active bans.
 *
 * Ordered by end time, permanent entries last. With `updated_since` ordered by the time of the change. Entries that expire are not in `lifted`.
 *
 * The key needs the scope `moderation:read`.
 */
export function listActiveBans(
  client: Client,
  args: ListActiveBansArgs = {},
  options?: CallOptions,
): Promise<ListActiveBansResult> {
  return client.request(LIST_ACTIVE_BANS, args, options);
}

/** The pages of `listActiveBans`, one after the other, from `cursor` on. */
export function listActiveBansPages(
  client: Client,
  args: ListActiveBansArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListActiveBansResult, void, void> {
  return pagesOf((page: ListActiveBansArgs) => listActiveBans(client, page, options), args);
}

const LIST_ACTIVE_MUTES: Operation = {
  name: 'listActiveMutes',
  method: 'GET',
  path: '/api/v1/moderation/{guildId}/game/mutes/active',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_read', requests: 100 },
};

/**
 * List active mutes.
 *
 * Ordered by end time, permanent entries last. With `updated_since` ordered by the time of the change. Entries that expire are not in `lifted`.
 *
 * The key needs the scope `moderation:read`.
 */
export function listActiveMutes(
  client: Client,
  args: ListActiveMutesArgs = {},
  options?: CallOptions,
): Promise<ListActiveMutesResult> {
  return client.request(LIST_ACTIVE_MUTES, args, options);
}

/** The pages of `listActiveMutes`, one after the other, from `cursor` on. */
export function listActiveMutesPages(
  client: Client,
  args: ListActiveMutesArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListActiveMutesResult, void, void> {
  return pagesOf((page: ListActiveMutesArgs) => listActiveMutes(client, page, options), args);
}

const LIST_MODERATION_LOGS: Operation = {
  name: 'listModerationLogs',
  method: 'GET',
  path: '/api/v1/moderation/{guildId}/logs',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_read', requests: 100 },
};

/**
 * List moderation log entries.
 *
 * Every ban, unban, mute and unmute, newest first.
 *
 * The key needs the scope `moderation:read`.
 */
export function listModerationLogs(
  client: Client,
  args: ListModerationLogsArgs = {},
  options?: CallOptions,
): Promise<ListModerationLogsResult> {
  return client.request(LIST_MODERATION_LOGS, args, options);
}

/** The pages of `listModerationLogs`, one after the other, from `cursor` on. */
export function listModerationLogsPages(
  client: Client,
  args: ListModerationLogsArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListModerationLogsResult, void, void> {
  return pagesOf((page: ListModerationLogsArgs) => listModerationLogs(client, page, options), args);
}

const FLAG_PLAYER: Operation = {
  name: 'flagPlayer',
  method: 'PUT',
  path: '/api/v1/guilds/{guildId}/shield/{gameId}',
  guild: 'path',
  hasBody: true,
  writes: true,
  limit: { category: 'moderation_write', requests: 50 },
};

/**
 * Put a player on the guild's flagged list.
 *
 * Replaces an entry of the guild. It takes precedence over one that operators have made for all guilds.
 *
 * The key needs the scope `moderation:write`.
 */
export function flagPlayer(client: Client, args: FlagPlayerArgs, options?: CallOptions): Promise<OwnShieldEntry> {
  return client.request(FLAG_PLAYER, args, options);
}

const UNFLAG_PLAYER: Operation = {
  name: 'unflagPlayer',
  method: 'DELETE',
  path: '/api/v1/guilds/{guildId}/shield/{gameId}',
  guild: 'path',
  hasBody: false,
  writes: true,
  limit: { category: 'moderation_write', requests: 50 },
};

/**
 * Take a player off the guild's flagged list.
 *
 * A player whom operators have flagged for all guilds stays flagged.
 *
 * The key needs the scope `moderation:write`.
 */
export function unflagPlayer(
  client: Client,
  args: UnflagPlayerArgs,
  options?: CallOptions,
): Promise<UnflagPlayerResult> {
  return client.request(UNFLAG_PLAYER, args, options);
}

const LIST_FLAGS: Operation = {
  name: 'listFlags',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/shield',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_read', requests: 100 },
};

/**
 * List the guild's flagged players.
 *
 * Ordered by game ID, without expired entries and those for all guilds.
 *
 * The key needs the scope `moderation:read`.
 */
export function listFlags(client: Client, args: ListFlagsArgs = {}, options?: CallOptions): Promise<ListFlagsResult> {
  return client.request(LIST_FLAGS, args, options);
}

/** The pages of `listFlags`, one after the other, from `cursor` on. */
export function listFlagsPages(
  client: Client,
  args: ListFlagsArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListFlagsResult, void, void> {
  return pagesOf((page: ListFlagsArgs) => listFlags(client, page, options), args);
}

const GET_PERSON: Operation = {
  name: 'getPerson',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/people/{gameId}',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'moderation_read', requests: 100 },
};

/**
 * Get everything about one player.
 *
 * The entry of the flagged list may be up to 10 s old. A player of whom nothing is known has nulls and an empty log.
 *
 * The key needs the scope `moderation:read`.
 */
export function getPerson(client: Client, args: GetPersonArgs, options?: CallOptions): Promise<Person> {
  return client.request(GET_PERSON, args, options);
}

const GET_STAFF_PERMISSIONS: Operation = {
  name: 'getStaffPermissions',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/staff/game/{gameId}/permissions',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'roblox_activity', requests: 200 },
};

/**
 * Get a player's staff permissions.
 *
 * Uses the player's linked chat account and its current chat roles. A player who is not staff gets 200 with level 0. A service or platform that is not reachable is an error, never level 0.
 *
 * The key needs the scope `activity:write`.
 */
export function getStaffPermissions(
  client: Client,
  args: GetStaffPermissionsArgs,
  options?: CallOptions,
): Promise<StaffPermissions> {
  return client.request(GET_STAFF_PERMISSIONS, args, options);
}

const REGISTER_GAME: Operation = {
  name: 'registerGame',
  method: 'POST',
  path: '/api/v1/game/games/register',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'staff_activity', requests: 200 },
};

/**
 * Register a game place.
 *
 * Repeat it to update the name and version. A place that was not registered again for 400 days is deleted.
 *
 * The key needs the scope `activity:write`.
 */
export function registerGame(
  client: Client,
  args: RegisterGameArgs,
  options?: CallOptions,
): Promise<RegisterGameResult> {
  return client.request(REGISTER_GAME, args, options);
}

const LOG_STAFF_ACTION: Operation = {
  name: 'logStaffAction',
  method: 'POST',
  path: '/api/v1/staff/game/action',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'staff_activity', requests: 200 },
};

/**
 * Log a staff action.
 *
 * Repeating an `action_id` returns the logged action again, even if the quota is exceeded.
 *
 * The key needs the scope `activity:write`.
 */
export function logStaffAction(
  client: Client,
  args: LogStaffActionArgs,
  options?: CallOptions,
): Promise<LogStaffActionResult> {
  return client.request(LOG_STAFF_ACTION, args, options);
}

const START_STAFF_SESSION: Operation = {
  name: 'startStaffSession',
  method: 'POST',
  path: '/api/v1/staff/game/session/start',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'staff_session', requests: 100 },
};

/**
 * Start a staff session.
 *
 * Resumes an open session. After three missed heartbeats (180 s) a session ends, at the time of the last one.
 *
 * The key needs the scope `activity:write`.
 */
export function startStaffSession(
  client: Client,
  args: StartStaffSessionArgs,
  options?: CallOptions,
): Promise<StartStaffSessionResult> {
  return client.request(START_STAFF_SESSION, args, options);
}

const SEND_STAFF_HEARTBEAT: Operation = {
  name: 'sendStaffHeartbeat',
  method: 'POST',
  path: '/api/v1/staff/game/heartbeat',
  guild: 'body',
  hasBody: true,
  writes: false,
  limit: { category: 'staff_heartbeat', requests: 300 },
};

/**
 * Send a staff session heartbeat.
 *
 * Keeps up to 25 staff sessions of a server open. Send it every 60 s.
 *
 * The key needs the scope `activity:write`.
 */
export function sendStaffHeartbeat(
  client: Client,
  args: SendStaffHeartbeatArgs,
  options?: CallOptions,
): Promise<SendStaffHeartbeatResult> {
  return client.request(SEND_STAFF_HEARTBEAT, args, options);
}

const END_STAFF_SESSION: Operation = {
  name: 'endStaffSession',
  method: 'POST',
  path: '/api/v1/staff/game/session/end',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'staff_session', requests: 100 },
};

/**
 * End a staff session.
 *
 * Repeating the call changes nothing.
 *
 * The key needs the scope `activity:write`.
 */
export function endStaffSession(
  client: Client,
  args: EndStaffSessionArgs,
  options?: CallOptions,
): Promise<EndStaffSessionResult> {
  return client.request(END_STAFF_SESSION, args, options);
}

const SEND_SERVER_HEARTBEAT: Operation = {
  name: 'sendServerHeartbeat',
  method: 'POST',
  path: '/api/v1/game/servers/heartbeat',
  guild: 'body',
  hasBody: true,
  writes: false,
  limit: { category: 'server_heartbeat', requests: 300 },
};

/**
 * Send a server heartbeat.
 *
 * Acknowledges commands and receives new ones. A server is live until 3 times `next_heartbeat_seconds` after its last heartbeat, or until a heartbeat with `final`. A command is leased for 30 s after a poll, for at least twice the heartbeat interval after a heartbeat, and then delivered again until it is acknowledged or expires. Store its `command_id` to execute it once.
 *
 * The key needs the scope `server:write`.
 */
export function sendServerHeartbeat(
  client: Client,
  args: SendServerHeartbeatArgs,
  options?: CallOptions,
): Promise<SendServerHeartbeatResult> {
  return client.request(SEND_SERVER_HEARTBEAT, args, options);
}

const POLL_COMMANDS: Operation = {
  name: 'pollCommands',
  method: 'GET',
  path: '/api/v1/game/servers/{serverId}/commands',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'server_poll', requests: 300 },
};

/**
 * Poll for commands.
 *
 * With `wait` the response is delayed until there is a command (long polling). An unknown server gets no commands. Commands are leased and delivered again as with `sendServerHeartbeat`.
 *
 * The key needs the scope `server:write`.
 */
export function pollCommands(
  client: Client,
  args: PollCommandsArgs,
  options?: CallOptions,
): Promise<PollCommandsResult> {
  return client.request(POLL_COMMANDS, args, options);
}

const ACKNOWLEDGE_COMMAND: Operation = {
  name: 'acknowledgeCommand',
  method: 'POST',
  path: '/api/v1/game/servers/{serverId}/commands/{commandId}/ack',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'server_ack', requests: 100 },
};

/**
 * Acknowledge a command.
 *
 * Repeating the same acknowledgement changes nothing.
 *
 * The key needs the scope `server:write`.
 */
export function acknowledgeCommand(
  client: Client,
  args: AcknowledgeCommandArgs,
  options?: CallOptions,
): Promise<AcknowledgeCommandResult> {
  return client.request(ACKNOWLEDGE_COMMAND, args, options);
}

const LIST_SESSIONS: Operation = {
  name: 'listSessions',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/staff/sessions',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * List staff sessions.
 *
 * Those that started last first, in a range of their start. They are stored for 400 days.
 *
 * The key needs the scope `activity:read`.
 */
export function listSessions(
  client: Client,
  args: ListSessionsArgs = {},
  options?: CallOptions,
): Promise<ListSessionsResult> {
  return client.request(LIST_SESSIONS, args, options);
}

/** The pages of `listSessions`, one after the other, from `cursor` on. */
export function listSessionsPages(
  client: Client,
  args: ListSessionsArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListSessionsResult, void, void> {
  return pagesOf((page: ListSessionsArgs) => listSessions(client, page, options), args);
}

const LIST_ACTIONS: Operation = {
  name: 'listActions',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/staff/actions',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * List staff actions.
 *
 * The newest first. They are stored for 400 days.
 *
 * The key needs the scope `activity:read`.
 */
export function listActions(
  client: Client,
  args: ListActionsArgs = {},
  options?: CallOptions,
): Promise<ListActionsResult> {
  return client.request(LIST_ACTIONS, args, options);
}

/** The pages of `listActions`, one after the other, from `cursor` on. */
export function listActionsPages(
  client: Client,
  args: ListActionsArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListActionsResult, void, void> {
  return pagesOf((page: ListActionsArgs) => listActions(client, page, options), args);
}

const GET_STAFF_REPORT: Operation = {
  name: 'getStaffReport',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/staff/report',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * Get a report of staff members' activity.
 *
 * Sessions over midnight are split, and counted where they started. Open sessions count up to their last heartbeat. The first and the last interval contain only what lies between `from` and `to`. A page may have fewer than `limit` staff members: the last one has no `next_cursor`.
 *
 * The key needs the scope `activity:read`.
 */
export function getStaffReport(client: Client, args: GetStaffReportArgs, options?: CallOptions): Promise<StaffReport> {
  return client.request(GET_STAFF_REPORT, args, options);
}

/** The pages of `getStaffReport`, one after the other, from `cursor` on. */
export function getStaffReportPages(
  client: Client,
  args: GetStaffReportArgs,
  options?: CallOptions,
): AsyncGenerator<StaffReport, void, void> {
  return pagesOf((page: GetStaffReportArgs) => getStaffReport(client, page, options), args);
}

const LIST_SERVERS: Operation = {
  name: 'listServers',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/servers',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * List live game servers.
 *
 * As of their last heartbeats, ordered by ID.
 *
 * The key needs the scope `server:read`.
 */
export function listServers(
  client: Client,
  args: ListServersArgs = {},
  options?: CallOptions,
): Promise<ListServersResult> {
  return client.request(LIST_SERVERS, args, options);
}

/** The pages of `listServers`, one after the other, from `cursor` on. */
export function listServersPages(
  client: Client,
  args: ListServersArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListServersResult, void, void> {
  return pagesOf((page: ListServersArgs) => listServers(client, page, options), args);
}

const GET_SERVER: Operation = {
  name: 'getServer',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/servers/{serverId}',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * Get a live game server.
 *
 * A live server with its players, as of its last heartbeat.
 *
 * The key needs the scope `server:read`.
 */
export function getServer(client: Client, args: GetServerArgs, options?: CallOptions): Promise<GameServerWithPlayers> {
  return client.request(GET_SERVER, args, options);
}

const FIND_PLAYER_SERVER: Operation = {
  name: 'findPlayerServer',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/players/{gameId}/server',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * Find a player's game server.
 *
 * The live server whose heartbeat named the player last. Only servers that send `players` with their heartbeats are searched.
 *
 * The key needs the scope `server:read`.
 */
export function findPlayerServer(
  client: Client,
  args: FindPlayerServerArgs,
  options?: CallOptions,
): Promise<FindPlayerServerResult> {
  return client.request(FIND_PLAYER_SERVER, args, options);
}

const SEND_COMMAND: Operation = {
  name: 'sendCommand',
  method: 'POST',
  path: '/api/v1/guilds/{guildId}/commands',
  guild: 'path',
  hasBody: true,
  writes: true,
  limit: { category: 'commands_write', requests: 100 },
};

/**
 * Send a command to game servers.
 *
 * For one server, or the live servers of a place or of the guild; never for servers that become live later. If none is live, the command has no servers. `ban` and `mute` only notify game servers and write no ban.
 *
 * The key needs the scope `commands:write`.
 */
export function sendCommand(client: Client, args: SendCommandArgs, options?: CallOptions): Promise<SendCommandResult> {
  return client.request(SEND_COMMAND, args, options);
}

const LIST_COMMANDS: Operation = {
  name: 'listCommands',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/commands',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * List commands.
 *
 * With outcomes, also those of operators and of bans and mutes, for 7 days after their end. An expired command is listed with `state=finished` within 5 s.
 *
 * The key needs the scope `commands:read`.
 */
export function listCommands(
  client: Client,
  args: ListCommandsArgs = {},
  options?: CallOptions,
): Promise<ListCommandsResult> {
  return client.request(LIST_COMMANDS, args, options);
}

/** The pages of `listCommands`, one after the other, from `cursor` on. */
export function listCommandsPages(
  client: Client,
  args: ListCommandsArgs = {},
  options?: CallOptions,
): AsyncGenerator<ListCommandsResult, void, void> {
  return pagesOf((page: ListCommandsArgs) => listCommands(client, page, options), args);
}

const GET_COMMAND: Operation = {
  name: 'getCommand',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/commands/{commandId}',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'activity_read', requests: 100 },
};

/**
 * Get a command and its servers.
 *
 * A server that has not received the command is listed as long as it is stored: an hour after it was live.
 *
 * The key needs the scope `commands:read`.
 */
export function getCommand(client: Client, args: GetCommandArgs, options?: CallOptions): Promise<GetCommandResult> {
  return client.request(GET_COMMAND, args, options);
}

/** The pages of `getCommand`, one after the other, from `cursor` on. */
export function getCommandPages(
  client: Client,
  args: GetCommandArgs,
  options?: CallOptions,
): AsyncGenerator<GetCommandResult, void, void> {
  return pagesOf((page: GetCommandArgs) => getCommand(client, page, options), args);
}

const CANCEL_COMMAND: Operation = {
  name: 'cancelCommand',
  method: 'DELETE',
  path: '/api/v1/guilds/{guildId}/commands/{commandId}',
  guild: 'path',
  hasBody: false,
  writes: true,
  limit: { category: 'commands_write', requests: 100 },
};

/**
 * Cancel a command.
 *
 * Servers that have received it may still execute and acknowledge it.
 *
 * The key needs the scope `commands:write`.
 */
export function cancelCommand(
  client: Client,
  args: CancelCommandArgs,
  options?: CallOptions,
): Promise<CancelCommandResult> {
  return client.request(CANCEL_COMMAND, args, options);
}

const LIST_EVENTS: Operation = {
  name: 'listEvents',
  method: 'GET',
  path: '/api/v1/events',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'events_read', requests: 300 },
};

/**
 * List events.
 *
 * In order. Send `next_after` of each response as `after` of the next request. With `wait` the response is delayed until there is an event (long polling). Events whose data the key may not read are left out. A response has at most about 1 MiB.
 *
 * The key needs the scope `events:read`.
 */
export function listEvents(
  client: Client,
  args: ListEventsArgs = {},
  options?: CallOptions,
): Promise<ListEventsResult> {
  return client.request(LIST_EVENTS, args, options);
}

const STREAM_EVENTS: Operation = {
  name: 'streamEvents',
  method: 'GET',
  path: '/api/v1/events/stream',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'events_read', requests: 300 },
};

/**
 * Stream events.
 *
 * Server-sent events: `id` is the `seq`, `event` the type, and `data` the event as JSON. The stream continues after the header `Last-Event-ID`, or else after `after`. A comment is sent every 15 s, with an `id` of what was examined if events were left out. The stream counts as one request when it opens. It ends with `retry` when a server restarts, or when the client has not read and more than 1 MiB of events is waiting; connect again then. Connect again after an error such as 503 too. It ends without `retry` when the key is revoked, expires, is replaced, or loses a scope or the address. A guild has at most 20 streams: a new one ends the oldest, with a `retry` of at least a minute.
 *
 * The key needs the scope `events:read`.
 */
export function streamEvents(
  client: Client,
  args: StreamEventsArgs = {},
  options?: StreamOptions,
): AsyncGenerator<Event, StreamEnd, void> {
  return streamOf(client, STREAM_EVENTS, args, options);
}

const LIST_WEBHOOKS: Operation = {
  name: 'listWebhooks',
  method: 'GET',
  path: '/api/v1/webhooks',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'events_read', requests: 300 },
};

/**
 * List webhooks.
 *
 * All webhooks of the guild, at most 25, the oldest first.
 *
 * The key needs the scope `webhooks:read`.
 */
export function listWebhooks(client: Client, options?: CallOptions): Promise<ListWebhooksResult> {
  return client.request(LIST_WEBHOOKS, {}, options);
}

const CREATE_WEBHOOK: Operation = {
  name: 'createWebhook',
  method: 'POST',
  path: '/api/v1/webhooks',
  guild: 'body',
  hasBody: true,
  writes: true,
  limit: { category: 'webhooks_write', requests: 30 },
};

/**
 * Create a webhook.
 *
 * Deliveries are signed by the Standard Webhooks specification. A webhook has the scopes that the key that created it has now.
 *
 * The key needs the scope `webhooks:write`.
 */
export function createWebhook(client: Client, args: CreateWebhookArgs, options?: CallOptions): Promise<NewWebhook> {
  return client.request(CREATE_WEBHOOK, args, options);
}

const GET_WEBHOOK: Operation = {
  name: 'getWebhook',
  method: 'GET',
  path: '/api/v1/webhooks/{id}',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'events_read', requests: 300 },
};

/**
 * Get a webhook.
 *
 * The key needs the scope `webhooks:read`.
 */
export function getWebhook(client: Client, args: GetWebhookArgs, options?: CallOptions): Promise<Webhook> {
  return client.request(GET_WEBHOOK, args, options);
}

const UPDATE_WEBHOOK: Operation = {
  name: 'updateWebhook',
  method: 'PATCH',
  path: '/api/v1/webhooks/{id}',
  guild: 'header',
  hasBody: true,
  writes: true,
  limit: { category: 'webhooks_write', requests: 30 },
};

/**
 * Change, disable or enable a webhook.
 *
 * Omitted fields stay unchanged. A webhook that is enabled again continues after the last event that was sent. A change of `url` or `types`, and enabling, gives the webhook the scopes of this key: its revocation then disables the webhook.
 *
 * The key needs the scope `webhooks:write`.
 */
export function updateWebhook(client: Client, args: UpdateWebhookArgs, options?: CallOptions): Promise<Webhook> {
  return client.request(UPDATE_WEBHOOK, args, options);
}

const DELETE_WEBHOOK: Operation = {
  name: 'deleteWebhook',
  method: 'DELETE',
  path: '/api/v1/webhooks/{id}',
  guild: 'header',
  hasBody: false,
  writes: true,
  limit: { category: 'webhooks_write', requests: 30 },
};

/**
 * Delete a webhook.
 *
 * The key needs the scope `webhooks:write`.
 */
export function deleteWebhook(
  client: Client,
  args: DeleteWebhookArgs,
  options?: CallOptions,
): Promise<DeleteWebhookResult> {
  return client.request(DELETE_WEBHOOK, args, options);
}

const ROTATE_WEBHOOK_SECRET: Operation = {
  name: 'rotateWebhookSecret',
  method: 'POST',
  path: '/api/v1/webhooks/{id}/rotate',
  guild: 'header',
  hasBody: true,
  writes: true,
  limit: { category: 'webhooks_write', requests: 30 },
};

/**
 * Rotate the secret of a webhook.
 *
 * Until the end of the grace period deliveries have the signatures of both secrets.
 *
 * The key needs the scope `webhooks:write`.
 */
export function rotateWebhookSecret(
  client: Client,
  args: RotateWebhookSecretArgs,
  options?: CallOptions,
): Promise<RotateWebhookSecretResult> {
  return client.request(ROTATE_WEBHOOK_SECRET, args, options);
}

const TEST_WEBHOOK: Operation = {
  name: 'testWebhook',
  method: 'POST',
  path: '/api/v1/webhooks/{id}/test',
  guild: 'header',
  hasBody: false,
  writes: true,
  limit: { category: 'webhooks_write', requests: 30 },
};

/**
 * Send a test event to a webhook.
 *
 * Sends `webhook.test` once, also to a disabled webhook.
 *
 * The key needs the scope `webhooks:write`.
 */
export function testWebhook(client: Client, args: TestWebhookArgs, options?: CallOptions): Promise<TestWebhookResult> {
  return client.request(TEST_WEBHOOK, args, options);
}

const LIST_WEBHOOK_DELIVERIES: Operation = {
  name: 'listWebhookDeliveries',
  method: 'GET',
  path: '/api/v1/webhooks/{id}/deliveries',
  guild: 'header',
  hasBody: false,
  writes: false,
  limit: { category: 'events_read', requests: 300 },
};

/**
 * List the delivery attempts of a webhook.
 *
 * The newest first. Attempts are retained for seven days, the newest 10,000 of a webhook.
 *
 * The key needs the scope `webhooks:read`.
 */
export function listWebhookDeliveries(
  client: Client,
  args: ListWebhookDeliveriesArgs,
  options?: CallOptions,
): Promise<ListWebhookDeliveriesResult> {
  return client.request(LIST_WEBHOOK_DELIVERIES, args, options);
}

/** The pages of `listWebhookDeliveries`, one after the other, from `cursor` on. */
export function listWebhookDeliveriesPages(
  client: Client,
  args: ListWebhookDeliveriesArgs,
  options?: CallOptions,
): AsyncGenerator<ListWebhookDeliveriesResult, void, void> {
  return pagesOf((page: ListWebhookDeliveriesArgs) => listWebhookDeliveries(client, page, options), args);
}

const REPLAY_WEBHOOK: Operation = {
  name: 'replayWebhook',
  method: 'POST',
  path: '/api/v1/webhooks/{id}/replay',
  guild: 'header',
  hasBody: true,
  writes: true,
  limit: { category: 'webhooks_write', requests: 30 },
};

/**
 * Send events to a webhook again.
 *
 * With `from` the webhook goes back to that `seq`, and all events from there are sent again. With `event_ids` these events are sent once more.
 *
 * The key needs the scope `webhooks:write`.
 */
export function replayWebhook(client: Client, args: ReplayWebhookArgs, options?: CallOptions): Promise<Webhook> {
  return client.request(REPLAY_WEBHOOK, args, options);
}

const GET_USAGE: Operation = {
  name: 'getUsage',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/usage',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'config_read', requests: 100 },
};

/**
 * Get the guild's usage and quotas.
 *
 * Requests appear a few seconds after their response. Those that are rejected with 401 or 403, and those without a category, are not counted.
 */
export function getUsage(client: Client, options?: CallOptions): Promise<GetUsageResult> {
  return client.request(GET_USAGE, {}, options);
}

const GET_DOCTOR: Operation = {
  name: 'getDoctor',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/doctor',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'config_read', requests: 100 },
};

/**
 * Check the set-up of the guild.
 *
 * A platform or service that does not respond is a failed check. Results may be 30 s old.
 *
 * The key needs the scope `sync:read`.
 */
export function getDoctor(client: Client, options?: CallOptions): Promise<GetDoctorResult> {
  return client.request(GET_DOCTOR, {}, options);
}

const GET_OVERVIEW: Operation = {
  name: 'getOverview',
  method: 'GET',
  path: '/api/v1/guilds/{guildId}/overview',
  guild: 'path',
  hasBody: false,
  writes: false,
  limit: { category: 'config_read', requests: 100 },
};

/**
 * Count what the guild has.
 *
 * Counts for the first page of a dashboard.
 */
export function getOverview(client: Client, options?: CallOptions): Promise<GetOverviewResult> {
  return client.request(GET_OVERVIEW, {}, options);
}

const GET_HEALTH: Operation = {
  name: 'getHealth',
  method: 'GET',
  path: '/healthz',
  guild: 'none',
  hasBody: false,
  writes: false,
};

/**
 * Check gateway health.
 *
 * For load balancers. Needs no API key and has no rate limit.
 */
export function getHealth(client: Client, options?: CallOptions): Promise<Record<string, never>> {
  return client.request(GET_HEALTH, {}, options);
}
