import { randomUUID } from 'node:crypto';
import { createEventQueue } from '#kit/events/event-queue.ts';
import { EventSweeper } from '#kit/events/sweeper.ts';
import { guildStateMethods } from '#kit/guild-state/state-methods.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Idempotency } from '#kit/postgres/idempotency/idempotency.ts';
import { Retention } from '#kit/postgres/retention.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { CommandAdminServiceService, StaffAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { DecisionServiceService } from '#proto/gen/guild/activity/v1/commands.ts';
import { PlayerServiceService } from '#proto/gen/guild/activity/v1/players.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import { activityRoutes } from '#proto/rest/activity.ts';
import { type ActivityConfig, readActivityConfig } from './config.ts';
import { Admissions } from './domain/admissions.ts';
import { Backlog } from './domain/backlog.ts';
import { CommandReads } from './domain/command-reads.ts';
import { CommandReports } from './domain/command-reports.ts';
import type { Recipients } from './domain/command-request.ts';
import { Commands } from './domain/commands.ts';
import { GuildState } from './domain/guild-state.ts';
import { Heartbeats } from './domain/heartbeats.ts';
import { Intervals } from './domain/intervals.ts';
import { Leases } from './domain/leases.ts';
import { LiveServers } from './domain/live-servers.ts';
import { Permissions } from './domain/permissions.ts';
import { Players } from './domain/players.ts';
import { Polls } from './domain/polls.ts';
import { Quotas } from './domain/quotas.ts';
import { Sessions } from './domain/sessions.ts';
import { Staff } from './domain/staff.ts';
import { StaffRecords } from './domain/staff-records.ts';
import { StaffReport } from './domain/staff-report.ts';
import { StaffRoles } from './domain/staff-roles.ts';
import { erasureRules } from './erasure.ts';
import { ActivityEvents } from './events.ts';
import { commandAdminMethods } from './grpc/commands.ts';
import { decisionMethods } from './grpc/decisions.ts';
import { playerMethods } from './grpc/players.ts';
import { staffAdminMethods } from './grpc/staff.ts';
import { activityHandlers } from './http/activity.ts';
import { ActivityTelemetry } from './telemetry.ts';
import { createWakeUps } from './wake-ups.ts';

/** The channel that carries the IDs of guilds that have new commands. */
const COMMANDS_CHANNEL = 'activity_commands';

/** The deadline of calls to the members service, which waits up to 5 s for the chat platform. */
const MEMBERS_DEADLINE_MS = 6_000;
/**
 * The deadline of calls to the lookup service: slightly longer than lookup's database timeout, so that lookup itself
 * reports a failed read.
 */
const LOOKUP_DEADLINE_MS = 1_900;
/**
 * The connect timeout for calls to the lookup service and the members service: short, so that a request for permissions
 * fails fast while one of them is down.
 */
const CONNECT_TIMEOUT_MS = 1_000;

/** Defines the activity service: staff, game servers, and the commands to game servers. */
export const activityService: ServiceDefinition<ActivityConfig> = {
  name: 'activity',
  readConfig: readActivityConfig,
  caFiles: ['PLATFORMS_CA_FILE', 'REDIS_TLS_CA_FILE'],
  build(service) {
    const { config, metrics, log, ring, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const lookup = service.client(LookupServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS, {
      deadlineMs: LOOKUP_DEADLINE_MS,
      connectMs: CONNECT_TIMEOUT_MS,
      repeatable: ['getLinks'],
    });
    const membersChannel = service.channel('members', config.MEMBERS_GRPC_ADDRESS, {
      deadlineMs: MEMBERS_DEADLINE_MS,
      connectMs: CONNECT_TIMEOUT_MS,
    });
    const members = membersChannel.methods(MembersServiceService, ['getMemberRoles']);
    const guildSettings = membersChannel.methods(GuildSettingsServiceService, ['getGuildSettings']);
    const { recorder, worker, queueAdmin } = createEventQueue(service, database);
    const events = new ActivityEvents(recorder);
    const telemetry = new ActivityTelemetry(metrics, log);
    const idempotency = new Idempotency({
      schema: 'activity',
      database,
      ring,
      responseTtlSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
    });

    const feed = service.changeFeed(config, {
      database,
      channel: COMMANDS_CHANNEL,
      onChanges: (guildIds) => polls.wake(guildIds),
      onMissed: () => polls.wake(),
    });
    const reports = new CommandReports({ database, clock, events });
    const wakeUps = createWakeUps(service, database, guildSettings);
    const announce = (guildId: string, recipients: Recipients) => {
      feed.announce(guildId);
      wakeUps?.request(guildId, recipients);
    };
    const commands = new Commands({ database, idempotency, clock, announce, telemetry, reports });
    const commandReads = new CommandReads({ database, clock });
    const leases = new Leases(database, telemetry);
    const polls = new Polls({ database, leases, maxWaiting: config.MAX_WAITING_POLLS });
    metrics.gauge(
      'activity_open_polls',
      'Long polls of game servers that this process has not answered yet',
      [],
      (gauge) => gauge.set(polls.size),
    );
    metrics
      .gauge(
        'activity_open_polls_max',
        'Limit on long polls that wait for commands in this process (MAX_WAITING_POLLS)',
      )
      .set(config.MAX_WAITING_POLLS);
    const admissions = new Admissions({
      database,
      clock,
      events,
      telemetry,
      maxLiveServers: config.MAX_LIVE_SERVERS,
    });
    const heartbeats = new Heartbeats({
      database,
      commands,
      leases,
      admissions,
      clock,
      telemetry,
      batchDelayMs: config.HEARTBEAT_GATHER_MS,
    });
    const intervals = new Intervals(database);
    const sessions = new Sessions({ database, idempotency, clock, newSessionId: randomUUID, telemetry, events });
    const staff = new Staff({
      idempotency,
      clock,
      intervals,
      telemetry,
      events,
      maxActionsPerDay: config.MAX_STAFF_ACTIONS_PER_DAY,
    });
    const staffRoles = new StaffRoles({ database, clock, telemetry });
    const staffRecords = new StaffRecords(database);
    const liveServers = new LiveServers(database, clock);
    const permissions = new Permissions({ staffRoles, lookup, members });

    lifecycle.add(polls);
    if (wakeUps) lifecycle.add(wakeUps);
    lifecycle.add(worker);
    const sweeps = [admissions.lapsedServersSweep(), sessions.silentSessionsSweep(), reports.expiredCommandsSweep()];
    lifecycle.add(new EventSweeper({ sweeps, leases: service.leases, log }));
    lifecycle.add(new Backlog({ database, clock, metrics, log }));
    lifecycle.add(
      new Retention({ database, rules: retentionRules(config), clock, log, lease: service.leases.of('retention') }),
    );

    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, DecisionServiceService, decisionMethods(commands));
    service.serveInternal(grpc, PlayerServiceService, playerMethods(new Players(liveServers, staffRecords)));
    service.serveOperators(
      grpc,
      CommandAdminServiceService,
      commandAdminMethods({ commands, commandReads, database, clock }),
    );
    service.serveOperators(grpc, StaffAdminServiceService, staffAdminMethods(staffRoles));
    service.serveOperators(grpc, ErasureServiceService, erasureMethods({ database, rules: erasureRules, log }));
    const quotas = new Quotas({
      database,
      clock,
      maxLiveServers: config.MAX_LIVE_SERVERS,
      maxActionsPerDay: config.MAX_STAFF_ACTIONS_PER_DAY,
    });
    const usage = usageMethods({
      database,
      rules: erasureRules,
      metrics,
      log,
      quotas: (guildId) => quotas.of(guildId),
    });
    service.serveInternal(grpc, UsageServiceService, usage);
    const { counts, checks } = new GuildState(database, clock);
    service.serveInternal(grpc, GuildStateServiceService, guildStateMethods({ clock, counts, checks }));
    service.serveOperators(grpc, QueueAdminServiceService, queueAdmin);
    const reads = { liveServers, staffRecords, staffReport: new StaffReport(database) };
    const handlers = activityHandlers({
      staff,
      permissions,
      sessions,
      heartbeats,
      commands,
      commandReads,
      polls,
      intervals,
      clock,
      tellsTopic: wakeUps !== undefined,
      ...reads,
    });
    service.serveHttp(config, activityRoutes, handlers);
  },
};

/** How long the last request to wake the servers of a universe is stored. */
const WAKE_UPS_SECONDS = 24 * 3600;

/** How long daily counts are stored: the current day (UTC) and the day before. */
const DAILY_COUNTS_SECONDS = 2 * 24 * 3600;

/** Returns the age at which the rows of each table are deleted. */
export const retentionRules = (config: ActivityConfig) => [
  { table: 'activity.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
  // Deliveries must be deleted before their commands.
  { table: 'activity.deliveries', column: 'expires_at', seconds: config.RETENTION_COMMANDS_SECONDS },
  {
    table: 'activity.commands',
    column: 'LEAST(acked_at, expires_at)',
    seconds: config.RETENTION_COMMANDS_SECONDS,
  },
  { table: 'activity.sessions', column: 'started_at', seconds: config.RETENTION_SESSIONS_SECONDS },
  { table: 'activity.actions', column: 'created_at', seconds: config.RETENTION_ACTIONS_SECONDS },
  { table: 'activity.daily_counts', column: 'day', seconds: DAILY_COUNTS_SECONDS },
  { table: 'activity.wake_ups', column: 'requested_at', seconds: WAKE_UPS_SECONDS },
  { table: 'activity.games', column: 'updated_at', seconds: config.RETENTION_GAMES_SECONDS },
  {
    table: 'activity.servers',
    column: 'live_until',
    seconds: config.RETENTION_SERVERS_SECONDS,
    // Expired servers are found by walking the primary key and not by an index on live_until: every heartbeat changes
    // live_until, and with such an index PostgreSQL could not use HOT updates.
    walk: ['guild_id', 'server_id'],
  },
];
