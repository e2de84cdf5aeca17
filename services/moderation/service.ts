import { ReadCache } from '#kit/changes/read-cache.ts';
import { eventRelayOf } from '#kit/events/event-queue.ts';
import { EventRecorder } from '#kit/events/recorder.ts';
import { EVENTS_QUEUE } from '#kit/events/relay.ts';
import { EventSweeper } from '#kit/events/sweeper.ts';
import { guildStateMethods } from '#kit/guild-state/state-methods.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Idempotency } from '#kit/postgres/idempotency/idempotency.ts';
import { Retention, type RetentionRule } from '#kit/postgres/retention.ts';
import { queueAdminMethods } from '#kit/queue/admin.ts';
import { QueueWorker } from '#kit/queue/worker.ts';
import { queueLimits } from '#kit/service/config.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { DecisionServiceService } from '#proto/gen/guild/activity/v1/commands.ts';
import { PlayerServiceService } from '#proto/gen/guild/activity/v1/players.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import {
  BanMirrorAdminServiceService,
  RecordAdminServiceService,
  ShieldAdminServiceService,
} from '#proto/gen/guild/moderation/v1/admin.ts';
import { ModerationServiceService } from '#proto/gen/guild/moderation/v1/moderation.ts';
import { moderationRoutes } from '#proto/rest/moderation.ts';
import { peopleRoutes } from '#proto/rest/people.ts';
import { shieldRoutes } from '#proto/rest/shield.ts';
import { createBanMirror } from './ban-mirror.ts';
import { type ModerationConfig, readModerationConfig } from './config.ts';
import { DECISIONS, decisionQueue } from './domain/decision-queue.ts';
import { Decisions } from './domain/decisions.ts';
import { expirySweeps } from './domain/expiries.ts';
import { GuildState } from './domain/guild-state.ts';
import { Lists } from './domain/lists.ts';
import { RESTRICTION_QUEUE, TIMEOUT_QUEUE } from './domain/mirror-queue.ts';
import { People } from './domain/people.ts';
import { Shield } from './domain/shield.ts';
import { ALL_GUILDS } from './domain/shield-entry.ts';
import type { Standing } from './domain/standing.ts';
import { Standings } from './domain/standings.ts';
import { erasureRules } from './erasure.ts';
import { ModerationEvents } from './events.ts';
import { banMirrorMethods } from './grpc/ban-mirror.ts';
import { moderationMethods } from './grpc/moderation.ts';
import { recordMethods } from './grpc/records.ts';
import { shieldMethods } from './grpc/shield.ts';
import { decisionMessage } from './grpc/views.ts';
import { moderationHandlers } from './http/moderation.ts';
import { peopleHandlers } from './http/people.ts';
import { shieldHandlers } from './http/shield.ts';
import { TIMEOUT_TASKS } from './store/mirror-tasks.ts';
import type { Delivery } from './store/outbox.ts';
import { ModerationTelemetry } from './telemetry.ts';
import { createTimeoutMirror } from './timeout-mirror.ts';

/** The channel that carries the IDs of guilds whose bans, mutes or flags have changed. */
const CHANGES_CHANNEL = 'moderation_changes';

/** The moderation service: bans, mutes, the log of decisions and the flagged list. */
export const moderationService: ServiceDefinition<ModerationConfig> = {
  name: 'moderation',
  readConfig: readModerationConfig,
  caFiles: ['PLATFORMS_CA_FILE', 'REDIS_TLS_CA_FILE'],
  build(service) {
    const { config, metrics, log, ring, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const telemetry = new ModerationTelemetry(metrics, log);

    const cache = new ReadCache<Standing>({
      clock,
      ttlMs: config.STATUS_CACHE_SECONDS * 1000,
      max: config.STATUS_CACHE_ENTRIES,
    });
    const invalidate = (guildId: string) =>
      guildId === ALL_GUILDS ? cache.invalidateAll() : cache.invalidate(guildId);
    const feed = service.changeFeed(config, {
      database,
      channel: CHANGES_CHANNEL,
      onChanges: (guildIds) => guildIds.forEach(invalidate),
      onMissed: () => cache.invalidateAll(),
      // The replica may have ended after it committed a change and before it announced it, so that old entries are cached here.
      onPeerLost: () => cache.invalidateAll(),
    });

    const activityChannel = service.channel('activity', config.ACTIVITY_GRPC_ADDRESS);
    const activity = activityChannel.methods(DecisionServiceService);
    const players = activityChannel.methods(PlayerServiceService, ['findPlayer']);
    const lookup = service.client(LookupServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS, {
      repeatable: ['getLinks'],
    });
    const deliver = (delivery: Delivery) => activity.deliverDecision(decisionMessage(delivery));
    const recorder = new EventRecorder({ schema: 'moderation', wake: () => worker.wake(EVENTS_QUEUE) });
    const events = new ModerationEvents(recorder);
    const onChange = (guildId: string) => {
      invalidate(guildId);
      feed.announce(guildId);
      worker.wake(DECISIONS);
      worker.wake(RESTRICTION_QUEUE);
      worker.wake(TIMEOUT_QUEUE);
    };
    const banMirror = createBanMirror(service, {
      database,
      events,
      telemetry,
      onChange,
      wake: () => worker.wake(RESTRICTION_QUEUE),
    });
    const parts = { database, events, telemetry, lookup, onChange };
    const timeouts = createTimeoutMirror(service, { ...parts, wake: () => worker.wake(TIMEOUT_QUEUE) });
    const definitions = [
      decisionQueue({ clock, deliver, telemetry }),
      eventRelayOf(service, database),
      timeouts.queue,
      ...(banMirror ? [banMirror.queue] : []),
    ];
    const worker = new QueueWorker(definitions, { database, limits: queueLimits(config), metrics, log });
    metrics.gauge(
      'moderation_outbox_oldest_seconds',
      'Age of the oldest moderation decision that is not delivered to the activity service yet; 0 if there is none',
      [],
      (gauge) => gauge.set(worker.oldestSeconds(DECISIONS)),
    );

    const standings = new Standings({ database, cache, clock, isReceiving: () => feed.isReceiving, telemetry });
    const idempotency = new Idempotency({
      schema: 'moderation',
      database,
      ring,
      responseTtlSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
    });
    const decisions = new Decisions({
      idempotency,
      telemetry,
      events,
      onChange,
      mirror: banMirror?.mirror,
      mirrorMute: (transaction, guildId, gameId) => TIMEOUT_TASKS.queue(transaction, guildId, [gameId]),
    });
    const lists = new Lists(database);
    const people = new People({ database, standings, lookup, players, clock });
    const maxEntries = config.MAX_SHIELD_ENTRIES;
    const shield = new Shield({ database, idempotency, clock, maxEntries, telemetry, events, onChange });

    lifecycle.add(worker);
    const sweeps = [...expirySweeps({ database, events, telemetry }), ...timeouts.sweeps, ...(banMirror?.sweeps ?? [])];
    lifecycle.add(new EventSweeper({ sweeps, leases: service.leases, log }));
    // Drained before the sweeper, whose readings of the platform it ends.
    if (banMirror) lifecycle.add({ name: 'ban mirror', drain: async () => banMirror.stop() });
    lifecycle.add(
      new Retention({ database, rules: retentionRules(config), clock, log, lease: service.leases.of('retention') }),
    );
    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, ModerationServiceService, moderationMethods({ standings, decisions, clock }));
    service.serveOperators(grpc, RecordAdminServiceService, recordMethods(lists));
    service.serveOperators(grpc, BanMirrorAdminServiceService, banMirrorMethods({ database, log }));
    service.serveOperators(grpc, ShieldAdminServiceService, shieldMethods(shield, clock));
    const erasure = erasureMethods({ database, rules: erasureRules, log, erased: onChange });
    service.serveOperators(grpc, ErasureServiceService, erasure);
    const quotas = async (guildId: string) => [await shield.quota(guildId)];
    service.serveInternal(
      grpc,
      UsageServiceService,
      usageMethods({ database, rules: erasureRules, metrics, log, quotas }),
    );
    const { counts } = new GuildState(database);
    service.serveInternal(grpc, GuildStateServiceService, guildStateMethods({ clock, counts }));
    const wakeAll = () => worker.wake();
    service.serveOperators(
      grpc,
      QueueAdminServiceService,
      queueAdminMethods({ database, definitions, log, wake: wakeAll }),
    );
    const handlers = {
      ...moderationHandlers({ standings, decisions, lists, clock }),
      ...shieldHandlers(shield),
      ...peopleHandlers(people),
    };
    service.serveHttp(config, { ...moderationRoutes, ...shieldRoutes, ...peopleRoutes }, handlers);
  },
};

/** The age in seconds, counted from a time column, at which the rows of each table are deleted. */
export const retentionRules = (config: ModerationConfig): RetentionRule[] => [
  { table: 'moderation.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
  { table: 'moderation.outbox', column: 'delivered_at', seconds: config.RETENTION_OUTBOX_SECONDS },
  { table: 'moderation.restrictions', column: 'ends_at', seconds: config.RETENTION_RESTRICTIONS_SECONDS },
  { table: 'moderation.timeouts', column: 'ends_at', seconds: config.RETENTION_RESTRICTIONS_SECONDS },
];
