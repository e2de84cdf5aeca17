import { type Delivery, type Webhook, WebhookAdminServiceService } from '#proto/gen/guild/events/v1/admin.ts';
import { ACTOR_OPTION, type Command, type Input, type Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { required } from '../responses.ts';
import { optionalTime, properties, table, time } from '../text.ts';

const ARGUMENT = 'WEBHOOK_ID';
const GUILD = { guild: { type: 'string' } } as const;
const CHANGE = { ...GUILD, ...ACTOR_OPTION } as const;
const FROM_NOTE = '--from SEQ       the first event to send; it must be in the log';

const list: Command = {
  name: 'webhooks list',
  usage: '--guild ID',
  options: GUILD,
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    const { webhooks } = await admin(connections).listWebhooks({ guildId });
    const rows = webhooks.map((webhook) => [
      webhook.id,
      webhook.url,
      webhook.types.join(','),
      stateOf(webhook),
      String(webhook.deliveredSeq),
      String(webhook.parked),
      optionalTime(webhook.failingSince, '-'),
    ]);
    const headings = ['WEBHOOK', 'URL', 'TYPES', 'STATE', 'DELIVERED SEQ', 'WAITING FOR RETRY', 'FAILING SINCE'];
    const text = rows.length > 0 ? table(headings, rows) : 'The guild has no webhooks.';
    return { document: { webhooks: webhooks.map(webhookDocument) }, text };
  },
};

const show: Command = {
  name: 'webhooks show',
  usage: `--guild ID ${ARGUMENT}`,
  argument: ARGUMENT,
  options: GUILD,
  run: async (input, connections) => {
    const request = named(input);
    input.check();
    return webhookOutput((await admin(connections).showWebhook(request)).webhook);
  },
};

const disable: Command = {
  name: 'webhooks disable',
  usage: `--guild ID ${ARGUMENT} [--actor NOTE]`,
  argument: ARGUMENT,
  options: CHANGE,
  run: async (input, connections) => {
    const request = { ...named(input), actor: input.actor };
    input.check();
    return webhookOutput((await admin(connections).disableWebhook(request)).webhook);
  },
};

const enable: Command = {
  name: 'webhooks enable',
  usage: `--guild ID ${ARGUMENT} [--from SEQ] [--actor NOTE]`,
  notes: [FROM_NOTE],
  argument: ARGUMENT,
  options: { ...CHANGE, from: { type: 'string' } },
  run: async (input, connections) => {
    const request = { ...named(input), from: input.numericId('from'), actor: input.actor };
    input.check();
    return webhookOutput((await admin(connections).enableWebhook(request)).webhook);
  },
};

const replay: Command = {
  name: 'webhooks replay',
  usage: `--guild ID ${ARGUMENT} (--from SEQ | --event EVENT_ID…) [--actor NOTE]`,
  notes: [FROM_NOTE, '--event ID       an event to send once more; up to 100'],
  argument: ARGUMENT,
  options: { ...CHANGE, from: { type: 'string' }, event: { type: 'string', multiple: true } },
  run: async (input, connections) => {
    input.oneOf('from', 'event');
    const eventIds = input.all('event');
    const request = { ...named(input), from: input.numericId('from'), eventIds, actor: input.actor };
    input.check();
    return webhookOutput((await admin(connections).replayWebhook(request)).webhook);
  },
};

const deliveries: Command = {
  name: 'webhooks deliveries',
  usage: `--guild ID ${ARGUMENT} ${PAGE_USAGE}`,
  notes: PAGE_NOTES,
  argument: ARGUMENT,
  options: { ...GUILD, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    const webhook = named(input);
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'deliveries',
      none: 'No event was sent to the webhook in the last seven days.',
      headings: ['AT', 'SEQ', 'ATTEMPT', 'STATUS', 'MS', 'ERROR', 'NEXT ATTEMPT', 'EVENT'],
      cells: (delivery) => [
        time(delivery.at),
        String(delivery.seq),
        String(delivery.attempt),
        String(delivery.status ?? '-'),
        String(delivery.latencyMs),
        delivery.error ?? '-',
        optionalTime(delivery.nextAttemptAt, '-'),
        delivery.eventId,
      ],
      document: deliveryDocument,
      page: async ({ limit, cursor: position }) => {
        const page = await admin(connections).listDeliveries({ ...webhook, limit, position });
        return { items: page.deliveries, nextCursor: page.nextPosition };
      },
    });
  },
};

export const webhookCommands: readonly Command[] = [list, show, disable, enable, replay, deliveries];

function admin(connections: Connections) {
  return connections.admin(WebhookAdminServiceService, 'events');
}

function named(input: Input) {
  const guildId = input.requiredText('guild');
  if (input.argument === undefined) input.fault(`${ARGUMENT} is required: webhooks list shows it`);
  return { guildId, id: input.argument ?? '' };
}

const stateOf = ({ enabled, disabledReason }: Webhook) =>
  enabled ? 'enabled' : `disabled: ${disabledReason ?? 'unknown'}`;

function webhookDocument(webhook: Webhook) {
  return {
    id: webhook.id,
    guild_id: webhook.guildId,
    url: webhook.url,
    types: webhook.types,
    description: webhook.description ?? null,
    format: webhook.format,
    enabled: webhook.enabled,
    disabled_reason: webhook.disabledReason ?? null,
    delivered_seq: webhook.deliveredSeq,
    failing_since: webhook.failingSince ?? null,
    parked: webhook.parked,
    key_id: webhook.keyId,
    created_at: webhook.createdAt,
  };
}

function deliveryDocument(delivery: Delivery) {
  return {
    event_id: delivery.eventId,
    seq: delivery.seq,
    attempt: delivery.attempt,
    at: delivery.at,
    status: delivery.status ?? null,
    latency_ms: delivery.latencyMs,
    error: delivery.error ?? null,
    answer: delivery.answer ?? null,
    next_attempt_at: delivery.nextAttemptAt ?? null,
  };
}

function webhookOutput(response: Webhook | undefined): Output {
  const webhook = required(response, 'webhook');
  const text = properties([
    ['Webhook', webhook.id],
    ['Guild', webhook.guildId],
    ['URL', webhook.url],
    ['Types', webhook.types.join(', ')],
    ['Description', webhook.description ?? '-'],
    ['Format', webhook.format],
    ['State', stateOf(webhook)],
    ['Delivered seq', String(webhook.deliveredSeq)],
    ['Waiting for retry', String(webhook.parked)],
    ['Failing since', optionalTime(webhook.failingSince, '-')],
    ['Key', webhook.keyId],
    ['Created', time(webhook.createdAt)],
  ]);
  return { document: webhookDocument(webhook), text };
}
