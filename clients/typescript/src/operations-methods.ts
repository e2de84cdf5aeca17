// Generated from the route table by `npm run clients`. Do not edit.
import { Client } from './client.ts';
import type { StreamEnd, StreamOptions } from './event-stream.ts';
import type { CallOptions } from './operation.ts';
import * as operations from './operations.ts';
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

/** A client with one method per operation. */
export class OperationMethods extends Client {
  /** Get the guild and scopes of the API key. */
  whoami(options?: CallOptions): Promise<WhoamiResult> {
    return operations.whoami(this, options);
  }

  /**
   * Look up the game account of a chat account.
   *
   * The key needs the scope `lookup:read`.
   */
  getLinkByChatId(args: GetLinkByChatIdArgs, options?: CallOptions): Promise<LinkRecord> {
    return operations.getLinkByChatId(this, args, options);
  }

  /**
   * Look up the chat account of a game account.
   *
   * The key needs the scope `lookup:read`.
   */
  getLinkByGameId(args: GetLinkByGameIdArgs, options?: CallOptions): Promise<LinkRecord> {
    return operations.getLinkByGameId(this, args, options);
  }

  /**
   * Look up the links of up to 25 users.
   *
   * The key needs the scope `lookup:read`.
   */
  getLinkStatuses(args: GetLinkStatusesArgs, options?: CallOptions): Promise<GetLinkStatusesResult> {
    return operations.getLinkStatuses(this, args, options);
  }

  /**
   * Look up a link by chat or game account.
   *
   * The key needs the scope `lookup:read`.
   */
  reverseLookup(args: ReverseLookupArgs, options?: CallOptions): Promise<LinkRecord> {
    return operations.reverseLookup(this, args, options);
  }

  /**
   * List role bindings.
   *
   * Ordered by priority, then by ID. Bindings without a priority come last.
   */
  listBindings(options?: CallOptions): Promise<ListBindingsResult> {
    return operations.listBindings(this, options);
  }

  /**
   * Add a role binding.
   *
   * Gives a chat role to members with matching game data at the next sync. It is saved only if the role and its target exist on their platforms. Fields that the type does not use are validated and ignored.
   */
  addBinding(args: AddBindingArgs, options?: CallOptions): Promise<Binding> {
    return operations.addBinding(this, args, options);
  }

  /**
   * Update a binding's rank range, priority, conditions or authority.
   *
   * Omitted fields, and ranks, conditions and an authority that are null, stay unchanged. Only a `group_rank` binding has ranks.
   */
  updateBinding(args: UpdateBindingArgs, options?: CallOptions): Promise<Binding> {
    return operations.updateBinding(this, args, options);
  }

  /**
   * Remove a binding.
   *
   * Members keep the role until the next sync.
   */
  removeBinding(args: RemoveBindingArgs, options?: CallOptions): Promise<RemoveBindingResult> {
    return operations.removeBinding(this, args, options);
  }

  /**
   * Test a binding for a member.
   *
   * For bindings of type `group_rank`, `verified` and `unverified`.
   */
  testBinding(args: TestBindingArgs, options?: CallOptions): Promise<TestBindingResult> {
    return operations.testBinding(this, args, options);
  }

  /**
   * Validate a binding configuration.
   *
   * Checks that the group exists and the range can match. Nothing is saved.
   */
  validateBinding(args: ValidateBindingArgs, options?: CallOptions): Promise<ValidateBindingResult> {
    return operations.validateBinding(this, args, options);
  }

  /**
   * List verified users.
   *
   * With `updated_since`, the pages hold the users who were linked (`users`) and unlinked (`unlinked`) since then, in order. An entry of `unlinked` removes exactly that pair: each account may have a new link by now.
   *
   * The key needs the scope `members:read`.
   */
  listVerifiedUsers(args?: ListVerifiedUsersArgs, options?: CallOptions): Promise<ListVerifiedUsersResult> {
    return operations.listVerifiedUsers(this, args, options);
  }

  /** The pages of `listVerifiedUsers`, one after the other, from `cursor` on. */
  listVerifiedUsersPages(
    args?: ListVerifiedUsersArgs,
    options?: CallOptions,
  ): AsyncGenerator<ListVerifiedUsersResult, void, void> {
    return operations.listVerifiedUsersPages(this, args, options);
  }

  /**
   * Get a chat account's link and link history.
   *
   * The history has the newest 100 changes, newest first.
   *
   * The key needs the scope `members:read`.
   */
  getLinks(args: GetLinksArgs, options?: CallOptions): Promise<GetLinksResult> {
    return operations.getLinks(this, args, options);
  }

  /**
   * Create a verification token.
   *
   * The player enters the code in the game, or follows a link with the token, to prove who owns the game account.
   *
   * The key needs the scope `verify:write`.
   */
  createVerificationToken(
    args: CreateVerificationTokenArgs,
    options?: CallOptions,
  ): Promise<CreateVerificationTokenResult> {
    return operations.createVerificationToken(this, args, options);
  }

  /**
   * Get the status of a verification token.
   *
   * The key needs the scope `verify:write`.
   */
  getVerificationToken(args: GetVerificationTokenArgs, options?: CallOptions): Promise<GetVerificationTokenResult> {
    return operations.getVerificationToken(this, args, options);
  }

  /**
   * Redeem a verification code or token.
   *
   * Call it from the game server, which knows the game account of the player.
   *
   * The key needs the scope `verify:write`.
   */
  redeemVerificationToken(args: RedeemVerificationTokenArgs, options?: CallOptions): Promise<LinkRecord> {
    return operations.redeemVerificationToken(this, args, options);
  }

  /**
   * Link a chat account to a game account.
   *
   * Links the accounts without a verification code.
   *
   * The key needs the scope `verify:write`.
   */
  linkAccount(args: LinkAccountArgs, options?: CallOptions): Promise<LinkRecord> {
    return operations.linkAccount(this, args, options);
  }

  /**
   * Unlink a chat account from a game account.
   *
   * Also removes the roles that bindings gave to the member. Roles that cannot be removed within three seconds are removed later.
   *
   * The key needs the scope `verify:write`.
   */
  unlinkAccount(args: UnlinkAccountArgs, options?: CallOptions): Promise<UnlinkAccountResult> {
    return operations.unlinkAccount(this, args, options);
  }

  /**
   * Invite a linked user, with roles.
   *
   * Only the linked chat account can accept it, once, within an hour. The same invite is returned for a minute.
   *
   * The key needs the scope `verify:write`.
   */
  createInvite(args: CreateInviteArgs, options?: CallOptions): Promise<Invite> {
    return operations.createInvite(this, args, options);
  }

  /**
   * List guild members.
   *
   * Ordered by chat ID, without the bot. The data is up to 10 s old.
   *
   * The key needs the scope `members:read`.
   */
  listMembers(args?: ListMembersArgs, options?: CallOptions): Promise<ListMembersResult> {
    return operations.listMembers(this, args, options);
  }

  /** The pages of `listMembers`, one after the other, from `cursor` on. */
  listMembersPages(args?: ListMembersArgs, options?: CallOptions): AsyncGenerator<ListMembersResult, void, void> {
    return operations.listMembersPages(this, args, options);
  }

  /**
   * Get a guild member.
   *
   * Reads the current data from the chat platform.
   *
   * The key needs the scope `members:read`.
   */
  getMember(args: GetMemberArgs, options?: CallOptions): Promise<Member> {
    return operations.getMember(this, args, options);
  }

  /**
   * List guild roles.
   *
   * Ordered from highest to lowest, without `@everyone`. The data is up to a minute old.
   */
  listRoles(options?: CallOptions): Promise<ListRolesResult> {
    return operations.listRoles(this, options);
  }

  /**
   * Get the settings of the guild.
   *
   * All are off, except `sync_on_link`, until they are changed.
   *
   * The key needs the scope `sync:read`.
   */
  getSettings(options?: CallOptions): Promise<GuildSettings> {
    return operations.getSettings(this, options);
  }

  /**
   * Change settings of the guild.
   *
   * Omitted fields stay unchanged. Takes effect within 10 s. Changes no member: use `POST /sync/group`.
   *
   * The key needs the scope `sync:write`.
   */
  updateSettings(args?: UpdateSettingsArgs, options?: CallOptions): Promise<GuildSettings> {
    return operations.updateSettings(this, args, options);
  }

  /**
   * Search people by ID or name.
   *
   * Returns at most 25 people, exact matches first.
   *
   * The key needs the scope `members:read`.
   */
  searchPeople(args: SearchPeopleArgs, options?: CallOptions): Promise<SearchPeopleResult> {
    return operations.searchPeople(this, args, options);
  }

  /**
   * Resolve the names of up to 100 chat and game IDs.
   *
   * Names may be an hour old.
   *
   * The key needs the scope `members:read`.
   */
  resolveNames(args?: ResolveNamesArgs, options?: CallOptions): Promise<ResolveNamesResult> {
    return operations.resolveNames(this, args, options);
  }

  /**
   * Explain the roles of a member binding by binding.
   *
   * Every role that has a binding or that a sync assigned.
   *
   * The key needs the scope `members:read`.
   */
  explainRoles(args: ExplainRolesArgs, options?: CallOptions): Promise<ExplainRolesResult> {
    return operations.explainRoles(this, args, options);
  }

  /**
   * Sync a member's roles with the role bindings.
   *
   * A role is assigned if the member matches one of its bindings. A role with a binding, or that an earlier sync assigned, is removed if the member matches none, all could be evaluated, and their `authority` allows it. Repeating the call changes nothing.
   *
   * The key needs the scope `sync:write`.
   */
  syncRoles(args: SyncRolesArgs, options?: CallOptions): Promise<SyncResult> {
    return operations.syncRoles(this, args, options);
  }

  /**
   * Sync the roles of all verified members for a game group.
   *
   * Syncs the roles with a binding to this group, or with a `verified` or `unverified` binding, by all their bindings. An unfinished job of the group is returned instead.
   *
   * The key needs the scope `sync:write`.
   */
  syncGroup(args: SyncGroupArgs, options?: CallOptions): Promise<QueuedJob> {
    return operations.syncGroup(this, args, options);
  }

  /**
   * Get the progress of a sync job.
   *
   * A job is deleted 30 days after its end.
   *
   * The key needs the scope `sync:write`.
   */
  getSyncJob(args: GetSyncJobArgs, options?: CallOptions): Promise<SyncJob> {
    return operations.getSyncJob(this, args, options);
  }

  /**
   * Set or remove a member's nickname.
   *
   * Sets the nickname to a text or to the result of a template.
   *
   * The key needs the scope `sync:write`.
   */
  syncNickname(args: SyncNicknameArgs, options?: CallOptions): Promise<NicknameChange> {
    return operations.syncNickname(this, args, options);
  }

  /**
   * Preview what a binding would do to all members.
   *
   * Starts a job. Nothing is changed. A newer preview of the guild ends an unfinished one.
   */
  previewBinding(args: PreviewBindingArgs, options?: CallOptions): Promise<QueuedJob> {
    return operations.previewBinding(this, args, options);
  }

  /**
   * Get a player's ban status.
   *
   * Without `place_id` only global bans are checked. A change is visible in all responses within 500 ms.
   *
   * The key needs the scope `moderation:read`.
   */
  getBanStatus(args: GetBanStatusArgs, options?: CallOptions): Promise<GetBanStatusResult> {
    return operations.getBanStatus(this, args, options);
  }

  /**
   * Get a player's mute status.
   *
   * Without `place_id` only global mutes are checked. A change is visible in all responses within 500 ms.
   *
   * The key needs the scope `moderation:read`.
   */
  getMuteStatus(args: GetMuteStatusArgs, options?: CallOptions): Promise<GetMuteStatusResult> {
    return operations.getMuteStatus(this, args, options);
  }

  /**
   * Get the moderation status of up to 25 players.
   *
   * Bans, mutes and the flagged list in one request.
   *
   * The key needs the scope `moderation:read`.
   */
  getPlayerStatuses(args: GetPlayerStatusesArgs, options?: CallOptions): Promise<GetPlayerStatusesResult> {
    return operations.getPlayerStatuses(this, args, options);
  }

  /**
   * Check whether a player is on the flagged list.
   *
   * If the player has an entry of the guild and one for all guilds, the guild's own is returned.
   *
   * The key needs the scope `moderation:read`.
   */
  checkShield(args: CheckShieldArgs, options?: CallOptions): Promise<CheckShieldResult> {
    return operations.checkShield(this, args, options);
  }

  /**
   * Check whether up to 25 players are on the flagged list.
   *
   * The key needs the scope `moderation:read`.
   */
  checkShieldBatch(args: CheckShieldBatchArgs, options?: CallOptions): Promise<CheckShieldBatchResult> {
    return operations.checkShieldBatch(this, args, options);
  }

  /**
   * Ban a player.
   *
   * Live servers in its scope get a command.
   *
   * The key needs the scope `moderation:write`.
   */
  banPlayer(args: BanPlayerArgs, options?: CallOptions): Promise<CreatedPunishment> {
    return operations.banPlayer(this, args, options);
  }

  /**
   * Mute a player.
   *
   * Live servers in its scope get a command.
   *
   * The key needs the scope `moderation:write`.
   */
  mutePlayer(args: MutePlayerArgs, options?: CallOptions): Promise<CreatedPunishment> {
    return operations.mutePlayer(this, args, options);
  }

  /**
   * Unban a player.
   *
   * Live servers in its scope get a command.
   *
   * The key needs the scope `moderation:write`.
   */
  unbanPlayer(args: UnbanPlayerArgs, options?: CallOptions): Promise<LiftedPunishment> {
    return operations.unbanPlayer(this, args, options);
  }

  /**
   * Unmute a player.
   *
   * Live servers in its scope get a command.
   *
   * The key needs the scope `moderation:write`.
   */
  unmutePlayer(args: UnmutePlayerArgs, options?: CallOptions): Promise<LiftedPunishment> {
    return operations.unmutePlayer(this, args, options);
  }

  /**
   * List active bans.
   *
   * Ordered by end time, permanent entries last. With `updated_since` ordered by the time of the change. Entries that expire are not in `lifted`.
   *
   * The key needs the scope `moderation:read`.
   */
  listActiveBans(args?: ListActiveBansArgs, options?: CallOptions): Promise<ListActiveBansResult> {
    return operations.listActiveBans(this, args, options);
  }

  /** The pages of `listActiveBans`, one after the other, from `cursor` on. */
  listActiveBansPages(
    args?: ListActiveBansArgs,
    options?: CallOptions,
  ): AsyncGenerator<ListActiveBansResult, void, void> {
    return operations.listActiveBansPages(this, args, options);
  }

  /**
   * List active mutes.
   *
   * Ordered by end time, permanent entries last. With `updated_since` ordered by the time of the change. Entries that expire are not in `lifted`.
   *
   * The key needs the scope `moderation:read`.
   */
  listActiveMutes(args?: ListActiveMutesArgs, options?: CallOptions): Promise<ListActiveMutesResult> {
    return operations.listActiveMutes(this, args, options);
  }

  /** The pages of `listActiveMutes`, one after the other, from `cursor` on. */
  listActiveMutesPages(
    args?: ListActiveMutesArgs,
    options?: CallOptions,
  ): AsyncGenerator<ListActiveMutesResult, void, void> {
    return operations.listActiveMutesPages(this, args, options);
  }

  /**
   * List moderation log entries.
   *
   * Every ban, unban, mute and unmute, newest first.
   *
   * The key needs the scope `moderation:read`.
   */
  listModerationLogs(args?: ListModerationLogsArgs, options?: CallOptions): Promise<ListModerationLogsResult> {
    return operations.listModerationLogs(this, args, options);
  }

  /** The pages of `listModerationLogs`, one after the other, from `cursor` on. */
  listModerationLogsPages(
    args?: ListModerationLogsArgs,
    options?: CallOptions,
  ): AsyncGenerator<ListModerationLogsResult, void, void> {
    return operations.listModerationLogsPages(this, args, options);
  }

  /**
   * Put a player on the guild's flagged list.
   *
   * Replaces an entry of the guild. It takes precedence over one that operators have made for all guilds.
   *
   * The key needs the scope `moderation:write`.
   */
  flagPlayer(args: FlagPlayerArgs, options?: CallOptions): Promise<OwnShieldEntry> {
    return operations.flagPlayer(this, args, options);
  }

  /**
   * Take a player off the guild's flagged list.
   *
   * A player whom operators have flagged for all guilds stays flagged.
   *
   * The key needs the scope `moderation:write`.
   */
  unflagPlayer(args: UnflagPlayerArgs, options?: CallOptions): Promise<UnflagPlayerResult> {
    return operations.unflagPlayer(this, args, options);
  }

  /**
   * List the guild's flagged players.
   *
   * Ordered by game ID, without expired entries and those for all guilds.
   *
   * The key needs the scope `moderation:read`.
   */
  listFlags(args?: ListFlagsArgs, options?: CallOptions): Promise<ListFlagsResult> {
    return operations.listFlags(this, args, options);
  }

  /** The pages of `listFlags`, one after the other, from `cursor` on. */
  listFlagsPages(args?: ListFlagsArgs, options?: CallOptions): AsyncGenerator<ListFlagsResult, void, void> {
    return operations.listFlagsPages(this, args, options);
  }

  /**
   * Get everything about one player.
   *
   * The entry of the flagged list may be up to 10 s old. A player of whom nothing is known has nulls and an empty log.
   *
   * The key needs the scope `moderation:read`.
   */
  getPerson(args: GetPersonArgs, options?: CallOptions): Promise<Person> {
    return operations.getPerson(this, args, options);
  }

  /**
   * Get a player's staff permissions.
   *
   * Uses the player's linked chat account and its current chat roles. A player who is not staff gets 200 with level 0. A service or platform that is not reachable is an error, never level 0.
   *
   * The key needs the scope `activity:write`.
   */
  getStaffPermissions(args: GetStaffPermissionsArgs, options?: CallOptions): Promise<StaffPermissions> {
    return operations.getStaffPermissions(this, args, options);
  }

  /**
   * Register a game place.
   *
   * Repeat it to update the name and version. A place that was not registered again for 400 days is deleted.
   *
   * The key needs the scope `activity:write`.
   */
  registerGame(args: RegisterGameArgs, options?: CallOptions): Promise<RegisterGameResult> {
    return operations.registerGame(this, args, options);
  }

  /**
   * Log a staff action.
   *
   * Repeating an `action_id` returns the logged action again, even if the quota is exceeded.
   *
   * The key needs the scope `activity:write`.
   */
  logStaffAction(args: LogStaffActionArgs, options?: CallOptions): Promise<LogStaffActionResult> {
    return operations.logStaffAction(this, args, options);
  }

  /**
   * Start a staff session.
   *
   * Resumes an open session. After three missed heartbeats (180 s) a session ends, at the time of the last one.
   *
   * The key needs the scope `activity:write`.
   */
  startStaffSession(args: StartStaffSessionArgs, options?: CallOptions): Promise<StartStaffSessionResult> {
    return operations.startStaffSession(this, args, options);
  }

  /**
   * Send a staff session heartbeat.
   *
   * Keeps up to 25 staff sessions of a server open. Send it every 60 s.
   *
   * The key needs the scope `activity:write`.
   */
  sendStaffHeartbeat(args: SendStaffHeartbeatArgs, options?: CallOptions): Promise<SendStaffHeartbeatResult> {
    return operations.sendStaffHeartbeat(this, args, options);
  }

  /**
   * End a staff session.
   *
   * Repeating the call changes nothing.
   *
   * The key needs the scope `activity:write`.
   */
  endStaffSession(args: EndStaffSessionArgs, options?: CallOptions): Promise<EndStaffSessionResult> {
    return operations.endStaffSession(this, args, options);
  }

  /**
   * Send a server heartbeat.
   *
   * Acknowledges commands and receives new ones. A server is live until 3 times `next_heartbeat_seconds` after its last heartbeat, or until a heartbeat with `final`. A command is leased for 30 s after a poll, for at least twice the heartbeat interval after a heartbeat, and then delivered again until it is acknowledged or expires. Store its `command_id` to execute it once.
   *
   * The key needs the scope `server:write`.
   */
  sendServerHeartbeat(args: SendServerHeartbeatArgs, options?: CallOptions): Promise<SendServerHeartbeatResult> {
    return operations.sendServerHeartbeat(this, args, options);
  }

  /**
   * Poll for commands.
   *
   * With `wait` the response is delayed until there is a command (long polling). An unknown server gets no commands. Commands are leased and delivered again as with `sendServerHeartbeat`.
   *
   * The key needs the scope `server:write`.
   */
  pollCommands(args: PollCommandsArgs, options?: CallOptions): Promise<PollCommandsResult> {
    return operations.pollCommands(this, args, options);
  }

  /**
   * Acknowledge a command.
   *
   * Repeating the same acknowledgement changes nothing.
   *
   * The key needs the scope `server:write`.
   */
  acknowledgeCommand(args: AcknowledgeCommandArgs, options?: CallOptions): Promise<AcknowledgeCommandResult> {
    return operations.acknowledgeCommand(this, args, options);
  }

  /**
   * List staff sessions.
   *
   * Those that started last first, in a range of their start. They are stored for 400 days.
   *
   * The key needs the scope `activity:read`.
   */
  listSessions(args?: ListSessionsArgs, options?: CallOptions): Promise<ListSessionsResult> {
    return operations.listSessions(this, args, options);
  }

  /** The pages of `listSessions`, one after the other, from `cursor` on. */
  listSessionsPages(args?: ListSessionsArgs, options?: CallOptions): AsyncGenerator<ListSessionsResult, void, void> {
    return operations.listSessionsPages(this, args, options);
  }

  /**
   * List staff actions.
   *
   * The newest first. They are stored for 400 days.
   *
   * The key needs the scope `activity:read`.
   */
  listActions(args?: ListActionsArgs, options?: CallOptions): Promise<ListActionsResult> {
    return operations.listActions(this, args, options);
  }

  /** The pages of `listActions`, one after the other, from `cursor` on. */
  listActionsPages(args?: ListActionsArgs, options?: CallOptions): AsyncGenerator<ListActionsResult, void, void> {
    return operations.listActionsPages(this, args, options);
  }

  /**
   * Get a report of staff members' activity.
   *
   * Sessions over midnight are split, and counted where they started. Open sessions count up to their last heartbeat. The first and the last interval contain only what lies between `from` and `to`. A page may have fewer than `limit` staff members: the last one has no `next_cursor`.
   *
   * The key needs the scope `activity:read`.
   */
  getStaffReport(args: GetStaffReportArgs, options?: CallOptions): Promise<StaffReport> {
    return operations.getStaffReport(this, args, options);
  }

  /** The pages of `getStaffReport`, one after the other, from `cursor` on. */
  getStaffReportPages(args: GetStaffReportArgs, options?: CallOptions): AsyncGenerator<StaffReport, void, void> {
    return operations.getStaffReportPages(this, args, options);
  }

  /**
   * List live game servers.
   *
   * As of their last heartbeats, ordered by ID.
   *
   * The key needs the scope `server:read`.
   */
  listServers(args?: ListServersArgs, options?: CallOptions): Promise<ListServersResult> {
    return operations.listServers(this, args, options);
  }

  /** The pages of `listServers`, one after the other, from `cursor` on. */
  listServersPages(args?: ListServersArgs, options?: CallOptions): AsyncGenerator<ListServersResult, void, void> {
    return operations.listServersPages(this, args, options);
  }

  /**
   * Get a live game server.
   *
   * A live server with its players, as of its last heartbeat.
   *
   * The key needs the scope `server:read`.
   */
  getServer(args: GetServerArgs, options?: CallOptions): Promise<GameServerWithPlayers> {
    return operations.getServer(this, args, options);
  }

  /**
   * Find a player's game server.
   *
   * The live server whose heartbeat named the player last. Only servers that send `players` with their heartbeats are searched.
   *
   * The key needs the scope `server:read`.
   */
  findPlayerServer(args: FindPlayerServerArgs, options?: CallOptions): Promise<FindPlayerServerResult> {
    return operations.findPlayerServer(this, args, options);
  }

  /**
   * Send a command to game servers.
   *
   * For one server, or the live servers of a place or of the guild; never for servers that become live later. If none is live, the command has no servers. `ban` and `mute` only notify game servers and write no ban.
   *
   * The key needs the scope `commands:write`.
   */
  sendCommand(args: SendCommandArgs, options?: CallOptions): Promise<SendCommandResult> {
    return operations.sendCommand(this, args, options);
  }

  /**
   * List commands.
   *
   * With outcomes, also those of operators and of bans and mutes, for 7 days after their end. An expired command is listed with `state=finished` within 5 s.
   *
   * The key needs the scope `commands:read`.
   */
  listCommands(args?: ListCommandsArgs, options?: CallOptions): Promise<ListCommandsResult> {
    return operations.listCommands(this, args, options);
  }

  /** The pages of `listCommands`, one after the other, from `cursor` on. */
  listCommandsPages(args?: ListCommandsArgs, options?: CallOptions): AsyncGenerator<ListCommandsResult, void, void> {
    return operations.listCommandsPages(this, args, options);
  }

  /**
   * Get a command and its servers.
   *
   * A server that has not received the command is listed as long as it is stored: an hour after it was live.
   *
   * The key needs the scope `commands:read`.
   */
  getCommand(args: GetCommandArgs, options?: CallOptions): Promise<GetCommandResult> {
    return operations.getCommand(this, args, options);
  }

  /** The pages of `getCommand`, one after the other, from `cursor` on. */
  getCommandPages(args: GetCommandArgs, options?: CallOptions): AsyncGenerator<GetCommandResult, void, void> {
    return operations.getCommandPages(this, args, options);
  }

  /**
   * Cancel a command.
   *
   * Servers that have received it may still execute and acknowledge it.
   *
   * The key needs the scope `commands:write`.
   */
  cancelCommand(args: CancelCommandArgs, options?: CallOptions): Promise<CancelCommandResult> {
    return operations.cancelCommand(this, args, options);
  }

  /**
   * List events.
   *
   * In order. Send `next_after` of each response as `after` of the next request. With `wait` the response is delayed until there is an event (long polling). Events whose data the key may not read are left out. A response has at most about 1 MiB.
   *
   * The key needs the scope `events:read`.
   */
  listEvents(args?: ListEventsArgs, options?: CallOptions): Promise<ListEventsResult> {
    return operations.listEvents(this, args, options);
  }

  /**
   * Stream events.
   *
   * Server-sent events: `id` is the `seq`, `event` the type, and `data` the event as JSON. The stream continues after the header `Last-Event-ID`, or else after `after`. A comment is sent every 15 s, with an `id` of what was examined if events were left out. The stream counts as one request when it opens. It ends with `retry` when a server restarts, or when the client has not read and more than 1 MiB of events is waiting; connect again then. Connect again after an error such as 503 too. It ends without `retry` when the key is revoked, expires, is replaced, or loses a scope or the address. A guild has at most 20 streams: a new one ends the oldest, with a `retry` of at least a minute.
   *
   * The key needs the scope `events:read`.
   */
  streamEvents(args?: StreamEventsArgs, options?: StreamOptions): AsyncGenerator<Event, StreamEnd, void> {
    return operations.streamEvents(this, args, options);
  }

  /**
   * List webhooks.
   *
   * All webhooks of the guild, at most 25, the oldest first.
   *
   * The key needs the scope `webhooks:read`.
   */
  listWebhooks(options?: CallOptions): Promise<ListWebhooksResult> {
    return operations.listWebhooks(this, options);
  }

  /**
   * Create a webhook.
   *
   * Deliveries are signed by the Standard Webhooks specification. A webhook has the scopes that the key that created it has now.
   *
   * The key needs the scope `webhooks:write`.
   */
  createWebhook(args: CreateWebhookArgs, options?: CallOptions): Promise<NewWebhook> {
    return operations.createWebhook(this, args, options);
  }

  /**
   * Get a webhook.
   *
   * The key needs the scope `webhooks:read`.
   */
  getWebhook(args: GetWebhookArgs, options?: CallOptions): Promise<Webhook> {
    return operations.getWebhook(this, args, options);
  }

  /**
   * Change, disable or enable a webhook.
   *
   * Omitted fields stay unchanged. A webhook that is enabled again continues after the last event that was sent. A change of `url` or `types`, and enabling, gives the webhook the scopes of this key: its revocation then disables the webhook.
   *
   * The key needs the scope `webhooks:write`.
   */
  updateWebhook(args: UpdateWebhookArgs, options?: CallOptions): Promise<Webhook> {
    return operations.updateWebhook(this, args, options);
  }

  /**
   * Delete a webhook.
   *
   * The key needs the scope `webhooks:write`.
   */
  deleteWebhook(args: DeleteWebhookArgs, options?: CallOptions): Promise<DeleteWebhookResult> {
    return operations.deleteWebhook(this, args, options);
  }

  /**
   * Rotate the secret of a webhook.
   *
   * Until the end of the grace period deliveries have the signatures of both secrets.
   *
   * The key needs the scope `webhooks:write`.
   */
  rotateWebhookSecret(args: RotateWebhookSecretArgs, options?: CallOptions): Promise<RotateWebhookSecretResult> {
    return operations.rotateWebhookSecret(this, args, options);
  }

  /**
   * Send a test event to a webhook.
   *
   * Sends `webhook.test` once, also to a disabled webhook.
   *
   * The key needs the scope `webhooks:write`.
   */
  testWebhook(args: TestWebhookArgs, options?: CallOptions): Promise<TestWebhookResult> {
    return operations.testWebhook(this, args, options);
  }

  /**
   * List the delivery attempts of a webhook.
   *
   * The newest first. Attempts are retained for seven days, the newest 10,000 of a webhook.
   *
   * The key needs the scope `webhooks:read`.
   */
  listWebhookDeliveries(args: ListWebhookDeliveriesArgs, options?: CallOptions): Promise<ListWebhookDeliveriesResult> {
    return operations.listWebhookDeliveries(this, args, options);
  }

  /** The pages of `listWebhookDeliveries`, one after the other, from `cursor` on. */
  listWebhookDeliveriesPages(
    args: ListWebhookDeliveriesArgs,
    options?: CallOptions,
  ): AsyncGenerator<ListWebhookDeliveriesResult, void, void> {
    return operations.listWebhookDeliveriesPages(this, args, options);
  }

  /**
   * Send events to a webhook again.
   *
   * With `from` the webhook goes back to that `seq`, and all events from there are sent again. With `event_ids` these events are sent once more.
   *
   * The key needs the scope `webhooks:write`.
   */
  replayWebhook(args: ReplayWebhookArgs, options?: CallOptions): Promise<Webhook> {
    return operations.replayWebhook(this, args, options);
  }

  /**
   * Get the guild's usage and quotas.
   *
   * Requests appear a few seconds after their response. Those that are rejected with 401 or 403, and those without a category, are not counted.
   */
  getUsage(options?: CallOptions): Promise<GetUsageResult> {
    return operations.getUsage(this, options);
  }

  /**
   * Check the set-up of the guild.
   *
   * A platform or service that does not respond is a failed check. Results may be 30 s old.
   *
   * The key needs the scope `sync:read`.
   */
  getDoctor(options?: CallOptions): Promise<GetDoctorResult> {
    return operations.getDoctor(this, options);
  }

  /**
   * Count what the guild has.
   *
   * Counts for the first page of a dashboard.
   */
  getOverview(options?: CallOptions): Promise<GetOverviewResult> {
    return operations.getOverview(this, options);
  }

  /**
   * Check gateway health.
   *
   * For load balancers. Needs no API key and has no rate limit.
   */
  getHealth(options?: CallOptions): Promise<Record<string, never>> {
    return operations.getHealth(this, options);
  }
}
