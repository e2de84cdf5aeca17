import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import { checked } from '#kit/http/validate.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { WebhookAdminServiceService } from '#proto/gen/guild/events/v1/admin.ts';
import { guildId, listOf, uuid } from '#proto/rest/schemas.ts';
import { MAX_REPLAYED } from '#proto/rest/webhooks.ts';
import type { Delivery, Endpoint } from '../domain/endpoint.ts';
import type { LockedEndpoint, WebhookState } from '../domain/webhook-state.ts';
import type { Webhooks } from '../domain/webhooks.ts';
import type { WebhookTelemetry } from '../telemetry/webhooks.ts';

const MAX_PAGE_SIZE = 1_000;

const seq = z.int().min(1).optional();
const listRequest = z.object({ guild_id: guildId });
const webhookRequest = z.object({ guild_id: guildId, id: uuid });
const enableRequest = webhookRequest.extend({ from: seq });
const replayRequest = webhookRequest
  .extend({ from: seq, event_ids: listOf(uuid, MAX_REPLAYED, 'IDs') })
  .refine((message) => (message.from === undefined) === message.event_ids.length > 0, {
    path: ['from'],
    error: 'or event_ids is required, and not both',
  });
const deliveriesRequest = webhookRequest.extend({
  limit: z.int().min(1).max(MAX_PAGE_SIZE),
  position: z.string().max(100),
});

const positions = positionCodec({ at: /[0-9]{1,17}/, id: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/ });

export interface WebhookMethodsOptions {
  database: Database;
  webhooks: Webhooks;
  state: WebhookState;
  telemetry: WebhookTelemetry;
}

/** The gRPC methods of guild.events.v1.WebhookAdminService. */
export function webhookMethods({
  database,
  webhooks,
  state,
  telemetry,
}: WebhookMethodsOptions): GrpcHandlers<typeof WebhookAdminServiceService> {
  const change = async (
    name: string,
    { guild_id: guild, id }: z.output<typeof webhookRequest>,
    work: (transaction: Transaction, locked: LockedEndpoint) => Promise<Endpoint>,
  ) => {
    const changed = await database.transaction(async (transaction) =>
      work(transaction, await state.lock(transaction, guild, id)),
    );
    telemetry.changed(name, changed, currentOperator());
    return { webhook: webhookMessage(changed) };
  };
  return {
    async listWebhooks(message) {
      const request = checked(listRequest, named(message));
      return { webhooks: (await webhooks.list(request.guild_id)).map(webhookMessage) };
    },
    async showWebhook(message) {
      const request = checked(webhookRequest, named(message));
      return { webhook: webhookMessage(await webhooks.get(request.guild_id, request.id)) };
    },
    async disableWebhook(message) {
      return change('disabled', checked(webhookRequest, named(message)), (transaction, { endpoint }) =>
        state.disable(transaction, endpoint, 'operator'),
      );
    },
    async enableWebhook(message) {
      const request = checked(enableRequest, { ...named(message), from: message.from });
      return change('enabled', request, (transaction, locked) => state.enable(transaction, locked, request.from));
    },
    async replayWebhook(message) {
      const fields = { ...named(message), from: message.from, event_ids: message.eventIds };
      const request = checked(replayRequest, fields);
      return change('replayed', request, (transaction, locked) =>
        request.from === undefined
          ? state.replayEvents(transaction, locked, request.event_ids)
          : state.replayFrom(transaction, locked, request.from),
      );
    },
    async listDeliveries(message) {
      const { limit, position: start } = message;
      const request = checked(deliveriesRequest, { ...named(message), limit, position: start });
      const position = request.position === '' ? undefined : positions.read(request.position);
      const after = position && { atMicros: Number(position.at), id: position.id };
      const found = await webhooks.deliveries(request.guild_id, request.id, { after, limit: limit + 1 });
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return {
        deliveries: page.map(deliveryMessage),
        nextPosition: last ? positions.write({ at: last.atMicros, id: last.id }) : '',
      };
    },
  };
}

/** The fields that requests share, under the names of the .proto file, from which guildctl derives option names. */
const named = ({ guildId: guild, id }: { guildId: string; id?: string }) => ({ guild_id: guild, id });

const orUnset = <Value>(value: Value | null) => value ?? undefined;
const secondsOrUnset = (time: Date | null) => (time === null ? undefined : unixSeconds(time));

const webhookMessage = (endpoint: Endpoint) => ({
  id: endpoint.id,
  guildId: endpoint.guildId,
  url: endpoint.url,
  types: [...endpoint.types],
  description: orUnset(endpoint.description),
  format: endpoint.format,
  enabled: endpoint.enabled,
  disabledReason: orUnset(endpoint.disabledReason),
  deliveredSeq: endpoint.cursorSeq,
  failingSince: secondsOrUnset(endpoint.failingSince),
  parked: endpoint.parked,
  keyId: endpoint.keyId,
  createdAt: unixSeconds(endpoint.createdAt),
});

const deliveryMessage = (delivery: Delivery) => ({
  eventId: delivery.eventId,
  seq: delivery.seq,
  attempt: delivery.attempt,
  at: unixSeconds(delivery.at),
  status: orUnset(delivery.status),
  latencyMs: delivery.latencyMs,
  error: orUnset(delivery.error),
  answer: orUnset(delivery.answer),
  nextAttemptAt: secondsOrUnset(delivery.nextAttemptAt),
});
