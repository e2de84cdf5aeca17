import { randomBytes, randomUUID } from 'node:crypto';
import { eventRelayOf } from '#kit/events/event-queue.ts';
import { EventRecorder } from '#kit/events/recorder.ts';
import { EVENTS_QUEUE } from '#kit/events/relay.ts';
import { guildStateMethods } from '#kit/guild-state/state-methods.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Idempotency } from '#kit/postgres/idempotency/idempotency.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { queueAdminMethods } from '#kit/queue/admin.ts';
import { QueueWorker } from '#kit/queue/worker.ts';
import { queueLimits } from '#kit/service/config.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { SharedRedis } from '#platforms/budget/shared-redis.ts';
import { Discord } from '#platforms/discord/discord.ts';
import { platformFetch } from '#platforms/http/fetch.ts';
import { CHECKS_TTL_MS } from '#platforms/outage-check.ts';
import { Roblox } from '#platforms/roblox/roblox.ts';
import { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { JobAdminServiceService } from '#proto/gen/guild/members/v1/admin.ts';
import { ChatAdminServiceService } from '#proto/gen/guild/members/v1/chat.ts';
import { JoinServiceService } from '#proto/gen/guild/members/v1/joins.ts';
import { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import { TimeoutServiceService } from '#proto/gen/guild/members/v1/timeouts.ts';
import { directoryRoutes } from '#proto/rest/directory.ts';
import { guildsRoutes } from '#proto/rest/guilds.ts';
import { invitesRoutes } from '#proto/rest/invites.ts';
import { membersRoutes } from '#proto/rest/members.ts';
import { previewRoutes } from '#proto/rest/preview.ts';
import { settingsRoutes } from '#proto/rest/settings.ts';
import { syncRoutes } from '#proto/rest/sync.ts';
import { type MembersConfig, readMembersConfig } from './config.ts';
import { AutomaticNicknames } from './domain/automatic-nicknames.ts';
import { LinkChanges } from './domain/changes.ts';
import { GuildState } from './domain/guild-state.ts';
import { intentQueue } from './domain/intent-queue.ts';
import { Joins } from './domain/joins.ts';
import type { OnMemberChanges } from './domain/member-changes.ts';
import { MemberLocks } from './domain/member-locks.ts';
import { MemberReports } from './domain/member-reports.ts';
import { Members } from './domain/members.ts';
import { nicknameQueue } from './domain/nickname-queue.ts';
import { Nicknames } from './domain/nicknames.ts';
import { PeopleSearch } from './domain/people-search.ts';
import { PersonNames } from './domain/person-names.ts';
import { PlatformChecks } from './domain/platform-checks.ts';
import { RANK_POLL_QUEUE, RankPolls } from './domain/rank-polls.ts';
import { roleChangeQueue } from './domain/role-change-queue.ts';
import { RoleChanges } from './domain/role-changes.ts';
import { RoleExplanations } from './domain/role-explanations.ts';
import { RoleSync } from './domain/role-sync.ts';
import { ROLE_TASK_QUEUE, RoleTasks } from './domain/role-tasks.ts';
import { Settings } from './domain/settings.ts';
import { Timeouts } from './domain/timeouts.ts';
import { VerificationTokens } from './domain/tokens.ts';
import { Verification } from './domain/verification.ts';
import { erasureRules } from './erasure.ts';
import { MemberEvents } from './events.ts';
import { chatAdminMethods } from './grpc/chat-admin.ts';
import { jobAdminMethods } from './grpc/job-admin.ts';
import { joinMethods } from './grpc/joins.ts';
import { membersMethods } from './grpc/members.ts';
import { settingsMethods } from './grpc/settings.ts';
import { timeoutMethods } from './grpc/timeouts.ts';
import { directoryHandlers } from './http/directory.ts';
import { guildsHandlers } from './http/guilds.ts';
import { invitesHandlers } from './http/invites.ts';
import { membersHandlers } from './http/members.ts';
import { previewHandlers } from './http/preview.ts';
import { settingsHandlers } from './http/settings.ts';
import { syncHandlers } from './http/sync.ts';
import { changeViews, settingsView } from './http/views.ts';
import { buildJobs } from './jobs.ts';
import { buildJoins } from './joins.ts';
import { Mirror } from './mirror/mirror.ts';
import { retentionRules } from './retention.ts';
import { MemberReportTelemetry } from './telemetry/member-reports.ts';
import { MembersTelemetry } from './telemetry/members.ts';
import { RankPollTelemetry } from './telemetry/rank-polls.ts';
import { SettingsTelemetry } from './telemetry/settings.ts';
import { RoleTaskTelemetry } from './telemetry/tasks.ts';

/**
 * The deadline in milliseconds of calls to the bindings service, which responds within 6 s; the gateway's timeout for
 * the whole request is 8 s.
 */
const EVALUATE_MS = 6_500;

/** Verifies players, changes links, lists the members of a guild, and synchronises their roles and nicknames. */
export const membersService: ServiceDefinition<MembersConfig> = {
  name: 'members',
  readConfig: readMembersConfig,
  caFiles: ['PLATFORMS_CA_FILE', 'REDIS_TLS_CA_FILE'],
  build(service) {
    const { config, metrics, log, ring, breakers, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const lookup = service.client(LookupServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS, {
      // Writes to the lookup service are repeatable too, because each carries the ID of its operation.
      repeatable: ['getLinks', 'countLinks', 'listLinks', 'listHistory', 'createLink', 'deleteLink'],
    });
    const bindings = service.client(BindingsServiceService, 'bindings', config.BINDINGS_GRPC_ADDRESS, {
      deadlineMs: EVALUATE_MS,
      repeatable: ['listBindings', 'evaluate', 'planBinding'],
    });
    const processes = config.CHAT_PROCESSES;
    const shared = new SharedRedis({ redis: service.redis(config), processes, breakers, log });
    const platform = { shared, breakers, metrics, clock, fetch: platformFetch(config) };
    const game = new Roblox({ config, ...platform });
    const discord = new Discord({ config, log, ...platform });
    const mirror = new Mirror(config, { database, discord, metrics, log });
    const { chat } = mirror;

    const telemetry = new MembersTelemetry(metrics, log);
    const events = new MemberEvents(new EventRecorder({ schema: 'members', wake: () => worker.wake(EVENTS_QUEUE) }));
    const idempotency = new Idempotency({
      schema: 'members',
      database,
      ring,
      responseTtlSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
    });
    const tokens = new VerificationTokens({
      lookup,
      database,
      idempotency,
      ring,
      clock,
      random: randomBytes,
      telemetry,
    });
    const members = new Members(chat, lookup);
    const search = new PeopleSearch({ chat, game, lookup });
    const names = new PersonNames({ chat, game, lookup, clock });
    const explanations = new RoleExplanations({ database, lookup, bindings, chat });
    const locks = new MemberLocks(database, randomUUID);
    const roleChanges = new RoleChanges({ database, locks, lookup, chat, clock, telemetry, events });
    const roles = new RoleSync({ idempotency, lookup, bindings, changes: roleChanges, telemetry });
    const nicknames = new Nicknames({ database, idempotency, lookup, bindings, chat, game, telemetry, events });
    const automaticNicknames = new AutomaticNicknames({ database, nicknames, telemetry });
    const roleTasks = new RoleTasks({
      roles,
      nicknames: automaticNicknames,
      newId: randomUUID,
      telemetry: new RoleTaskTelemetry(metrics, log),
      begin: (item) => worker.begin(ROLE_TASK_QUEUE, item),
      wake: () => worker.wake(ROLE_TASK_QUEUE),
    });
    const changes = new LinkChanges({
      database,
      idempotency,
      lookup,
      clock,
      newOperationId: randomUUID,
      roleTasks,
      telemetry,
      views: changeViews,
    });
    const verification = new Verification({ tokens, changes, game, telemetry });
    const { invites, oauthJoins } = buildJoins({
      database,
      idempotency,
      locks,
      lookup,
      bindings,
      chat,
      nicknames: automaticNicknames,
      roleTasks,
      events,
      platform: discord,
      metrics,
      log,
    });
    const { jobAdmin, jobs, previews, ...jobQueues } = buildJobs({
      database,
      idempotency,
      lookup,
      bindings,
      chat,
      changes: roleChanges,
      nicknames: automaticNicknames,
      events,
      metrics,
      log,
      giveUpSeconds: config.JOBS_GIVE_UP_SECONDS,
      wake: (queue) => worker.wake(queue),
    });
    const settings = new Settings({
      database,
      idempotency,
      events,
      telemetry: new SettingsTelemetry(log),
      view: settingsView,
      wake: () => worker.wake(RANK_POLL_QUEUE),
    });
    const rankPolls = new RankPolls({
      database,
      lookup,
      bindings,
      game,
      roleTasks,
      telemetry: new RankPollTelemetry(metrics),
      roundMs: config.RANK_POLL_SECONDS * 1000,
    });
    const queues = [
      intentQueue(changes),
      roleTasks.definition,
      rankPolls.definition,
      roleChangeQueue(roles),
      nicknameQueue(nicknames),
      jobQueues.jobQueue,
      jobQueues.previewQueue,
      eventRelayOf(service, database),
    ];
    const worker = new QueueWorker(queues, { database, limits: queueLimits(config), metrics, log });
    lifecycle.add(worker);
    const joins = new Joins(roleTasks);
    const reports = new MemberReports(events, new MemberReportTelemetry(metrics, log));
    const timeouts = new Timeouts({ database, chat: discord });
    // In the order in which all transactions lock rows: role tasks, then the counters of events.
    const onMemberChanges: OnMemberChanges[] = [
      (transaction, changes) => joins.changed(transaction, changes),
      (transaction, changes) => timeouts.membersChanged(transaction, changes),
      (transaction, changes) => reports.changed(transaction, changes),
    ];
    const gateway = mirror.gateway(onMemberChanges);
    if (gateway) lifecycle.add(gateway);
    lifecycle.add(
      new Retention({ database, rules: retentionRules(config), clock, log, lease: service.leases.of('retention') }),
    );
    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, MembersServiceService, membersMethods(members));
    service.serveInternal(grpc, TimeoutServiceService, timeoutMethods(timeouts));
    service.serveInternal(grpc, JoinServiceService, joinMethods(oauthJoins));
    service.serveInternal(grpc, GuildSettingsServiceService, settingsMethods(settings));
    service.serveOperators(grpc, ErasureServiceService, erasureMethods({ database, rules: erasureRules, log }));
    service.serveInternal(grpc, UsageServiceService, usageMethods({ database, rules: erasureRules, metrics, log }));
    const platformChecks = new PlatformChecks({
      chat,
      application: discord.application,
      readKey: () => game.key(),
      settingsOf: (guildId) => settings.of(guildId),
      isWatched: mirror.isWatched,
      clock,
    });
    const { checks } = new GuildState(chat, platformChecks);
    const state = guildStateMethods({ clock, checks, checksTtlMs: CHECKS_TTL_MS });
    service.serveInternal(grpc, GuildStateServiceService, state);
    const queueAdmin = queueAdminMethods({ database, definitions: queues, log, wake: () => worker.wake() });
    service.serveOperators(grpc, QueueAdminServiceService, queueAdmin);
    service.serveOperators(grpc, JobAdminServiceService, jobAdminMethods(jobAdmin));
    service.serveOperators(grpc, ChatAdminServiceService, chatAdminMethods(discord.application));
    service.serveHttp(
      config,
      {
        ...membersRoutes,
        ...invitesRoutes,
        ...guildsRoutes,
        ...directoryRoutes,
        ...syncRoutes,
        ...previewRoutes,
        ...settingsRoutes,
      },
      {
        ...membersHandlers({ lookup, tokens, verification }),
        ...invitesHandlers({ invites }),
        ...guildsHandlers({ members }),
        ...directoryHandlers({ search, names, explanations }),
        ...syncHandlers({ roles, nicknames, jobs, previews }),
        ...previewHandlers({ previews }),
        ...settingsHandlers({ settings }),
      },
    );
  },
};
