import { randomBytes } from 'node:crypto';
import { Idempotency } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import type { EventsConfig } from './config.ts';
import { Messages } from './delivery/messages.ts';
import { Sender } from './delivery/sender.ts';
import { newSecret } from './delivery/signature.ts';
import { normalisedUrl } from './delivery/url-rules.ts';
import { Attempts } from './domain/deliveries/attempts.ts';
import { DeliveryScheduler } from './domain/deliveries/scheduler.ts';
import { Disabling } from './domain/disabling.ts';
import type { EventLog } from './domain/log.ts';
import { renewSecrets } from './domain/secrets.ts';
import { Upkeep } from './domain/upkeep.ts';
import type { Wakeups } from './domain/wakeups.ts';
import { WebhookState } from './domain/webhook-state.ts';
import { Webhooks } from './domain/webhooks.ts';
import { webhookView } from './http/webhook-views.ts';
import { countEndpoints } from './store/stats.ts';
import { WebhookTelemetry } from './telemetry/webhooks.ts';

export interface WebhookParts {
  database: Database;
  eventLog: EventLog;
  wakeups: Wakeups;
}

/** Creates the parts of the service that send events to webhooks, and adds them to its lifecycle. */
export function buildWebhooks(service: ServiceContext<EventsConfig>, { database, eventLog, wakeups }: WebhookParts) {
  const { config, metrics, log, ring, lifecycle, clock } = service;
  const telemetry = new WebhookTelemetry(metrics, log);
  const sender = new Sender({ config });
  const messages = new Messages({ sender, ring, clock });
  const disabling = new Disabling({ database, log: eventLog, telemetry, view: webhookView });
  const send = messages.send.bind(messages);
  const attempts = new Attempts({ send, clock, telemetry });
  const { disableGone } = disabling;
  const scheduler = new DeliveryScheduler({ database, attempts, disableGone, telemetry });
  wakeups.onWake((guildIds) => scheduler.wake(guildIds ?? []));
  const lease = service.leases.of('webhook upkeep');
  const upkeep = new Upkeep({
    jobs: {
      'disable failing webhooks': async () => void (lease.isHeld && (await disabling.disableFailing())),
      // Each replica does this: during a rotation the owner of the lease may not have the newest key.
      'encrypt secrets of webhooks with the newest key': () => renewSecrets(database, ring),
      // Each replica exports the counts.
      'count webhooks': async () => telemetry.counted(await countEndpoints(database)),
    },
    failed: (error, work) => telemetry.failed(error, work),
  });
  for (const part of [sender, scheduler, upkeep]) lifecycle.add(part);

  const idempotency = new Idempotency({
    schema: 'events',
    database,
    ring,
    responseTtlSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
  });
  const state = new WebhookState({ disabling, wake: (guildId) => scheduler.wake([guildId]) });
  const webhooks = new Webhooks({
    database,
    idempotency,
    ring,
    state,
    telemetry,
    newSecret: () => newSecret(randomBytes),
    normalisedUrl,
    send,
    now: () => clock.now(),
    log: eventLog,
  });
  return { webhooks, state, disabling, telemetry };
}
