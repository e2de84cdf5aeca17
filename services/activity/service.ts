import { randomUUID } from 'node:crypto';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Idempotency } from '#kit/postgres/idempotency.ts';
import { Listener } from '#kit/postgres/listener.ts';
import { Notifier, readNames } from '#kit/postgres/notifier.ts';
import { Retention } from '#kit/postgres/retention.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { CommandAdminServiceService, StaffAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { DecisionServiceService } from '#proto/gen/guild/activity/v1/commands.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { activityRoutes } from '#proto/rest/activity.ts';
import { type ActivityConfig, readActivityConfig } from './config.ts';
import { Admissions } from './domain/admissions.ts';
import { Backlog } from './domain/backlog.ts';
import { Commands } from './domain/commands.ts';
import { Intervals } from './domain/intervals.ts';
import { Leases } from './domain/leases.ts';
import { Permissions } from './domain/permissions.ts';
import { Polls } from './domain/polls.ts';
import { Servers } from './domain/servers.ts';
import { Sessions } from './domain/sessions.ts';
import { Staff } from './domain/staff.ts';
import { StaffRoles } from './domain/staff-roles.ts';
import { erasureRules } from './erasure.ts';
import { decisionMethods } from './grpc/activity.ts';
import { commandAdminMethods } from './grpc/commands.ts';
import { staffAdminMethods } from './grpc/staff.ts';
import { activityHandlers } from './http/activity.ts';
import { ActivityEvents } from './telemetry.ts';

/** On which processes tell each other which guilds have new commands. */
const COMMANDS_CHANNEL = 'activity_commands';

/** Members answers when the chat platform has, which takes up to 5 s. */
const MEMBER_ROLES_MS = 6_000;
/** A little more than lookup takes to give up a read of its database, which it then reports itself. */
const LINKS_MS = 1_900;
/** A game server that asks for permissions is told soon when it can not be told. */
const CONNECT_MS = 1_000;

/** Staff, game servers, and what these are told. */
export const activityService: ServiceDefinition<ActivityConfig> = {
  name: 'activity',
  readConfig: readActivityConfig,
  build(service) {
    const { config, metrics, log, ring, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const lookup = service.client(LookupServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS, {
      deadlineMs: LINKS_MS,
      connectMs: CONNECT_MS,
      repeatable: ['getLinks'],
    });
    const members = service.client(MembersServiceService, 'members', config.MEMBERS_GRPC_ADDRESS, {
      deadlineMs: MEMBER_ROLES_MS,
      connectMs: CONNECT_MS,
      repeatable: ['getMemberRoles'],
    });
    const events = new ActivityEvents(metrics, log);
    const idempotency = new Idempotency({
      schema: 'activity',
      database,
      ring,
      keptSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
    });

    const notifier = new Notifier({ database, channel: COMMANDS_CHANNEL, log });
    const commands = new Commands({ database, idempotency, clock, notifier, events });
    const leases = new Leases(database, events);
    const polls = new Polls({ database, leases, mostWaiting: config.MAX_WAITING_POLLS });
    metrics.gauge('activity_open_polls', 'Polls for commands that are open', [], (gauge) => gauge.set(polls.size));
    metrics.gauge('activity_open_polls_max', 'How many polls may wait').set(config.MAX_WAITING_POLLS);
    const gatherMs = config.HEARTBEAT_GATHER_MS;
    const admissions = new Admissions({ database, clock, log, events, maxLiveServers: config.MAX_LIVE_SERVERS });
    const servers = new Servers({ database, commands, leases, admissions, clock, events, gatherMs });
    const intervals = new Intervals(database);
    const sessions = new Sessions({ database, idempotency, clock, newSessionId: randomUUID, events });
    const staff = new Staff({
      idempotency,
      clock,
      intervals,
      events,
      maxActionsPerDay: config.MAX_STAFF_ACTIONS_PER_DAY,
    });
    const staffRoles = new StaffRoles(database, clock, events);
    const permissions = new Permissions(staffRoles, lookup, members);

    lifecycle.add(
      new Listener({
        url: config.DATABASE_DIRECT_URL ?? config.DATABASE_URL,
        name: service.name,
        channel: COMMANDS_CHANNEL,
        metrics,
        log,
        onNotification: (payload) => polls.wake(readNames(payload)),
        onListening: async () => polls.wake(),
        onProof: () => undefined,
      }),
    );
    lifecycle.add(notifier);
    lifecycle.add(polls);
    lifecycle.add(new Backlog({ database, clock, metrics, log }));
    lifecycle.add(new Retention({ database, rules: retentionRules(config), clock, log }));

    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, DecisionServiceService, decisionMethods(commands));
    service.serveOperators(grpc, CommandAdminServiceService, commandAdminMethods({ commands, database, clock }));
    service.serveOperators(grpc, StaffAdminServiceService, staffAdminMethods(staffRoles));
    service.serveOperators(grpc, ErasureServiceService, erasureMethods({ database, rules: erasureRules, log }));
    const handlers = activityHandlers({ staff, permissions, sessions, servers, commands, polls, intervals });
    service.serveHttp(config, activityRoutes, handlers);
  },
};

/** Days are counted in UTC. */
const COUNTED_DAYS_SECONDS = 2 * 24 * 3600;

/** What is deleted, and when. */
export const retentionRules = (config: ActivityConfig) => [
  { table: 'activity.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
  // Before the commands that they belong to.
  { table: 'activity.deliveries', column: 'expires_at', seconds: config.RETENTION_COMMANDS_SECONDS },
  {
    table: 'activity.commands',
    column: 'LEAST(acked_at, expires_at)',
    seconds: config.RETENTION_COMMANDS_SECONDS,
  },
  { table: 'activity.sessions', column: 'started_at', seconds: config.RETENTION_SESSIONS_SECONDS },
  { table: 'activity.actions', column: 'created_at', seconds: config.RETENTION_ACTIONS_SECONDS },
  // What was counted on days that are over.
  { table: 'activity.daily_counts', column: 'day', seconds: COUNTED_DAYS_SECONDS },
  { table: 'activity.games', column: 'updated_at', seconds: config.RETENTION_GAMES_SECONDS },
  {
    table: 'activity.servers',
    column: 'live_until',
    seconds: config.RETENTION_SERVERS_SECONDS,
    // Every heartbeat changes it: with an index on it no update would stay within its page.
    walk: ['guild_id', 'server_id'],
  },
];
