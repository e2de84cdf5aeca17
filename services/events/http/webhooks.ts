import { unixSeconds } from '#kit/clock.ts';
import type { HttpHandlers } from '#kit/http/app.ts';
import { decodeCursor, encodeCursor, NO_CURSOR } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { webhooksRoutes } from '#proto/rest/webhooks.ts';
import type { Webhooks } from '../domain/webhooks.ts';
import { deliveryView, webhookView } from './webhook-views.ts';

/** The position in the cursor of a list of attempts: the time in Unix microseconds and the ID of the last one. */
const positions = positionCodec(
  { at: /[0-9]{1,17}/, id: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/ },
  { path: 'query.cursor', message: NO_CURSOR },
);

/** Returns the handlers of the REST routes in proto/rest/webhooks.ts. */
export function webhooksHandlers(webhooks: Webhooks): HttpHandlers<typeof webhooksRoutes> {
  return {
    async listWebhooks({ guildId }) {
      return ok({ webhooks: (await webhooks.list(guildId)).map(webhookView) });
    },
    async getWebhook({ guildId, params }) {
      return ok(webhookView(await webhooks.get(guildId, params.id)));
    },
    async createWebhook({ write, principal, body }) {
      const { url, types, description = null, format = 'standard', from } = body;
      const wanted = { url, types, description, format, from: from === 'now' ? undefined : from };
      return webhooks.create(write, principal, wanted, (endpoint, secret) => ({ ...webhookView(endpoint), secret }));
    },
    async updateWebhook({ write, principal, params, body }) {
      const { url, types, description, enabled, from } = body;
      return webhooks.update(write, params.id, principal, { url, types, description, enabled, from }, webhookView);
    },
    async deleteWebhook({ write, principal, params }) {
      return webhooks.remove(write, params.id, principal);
    },
    async rotateWebhookSecret({ write, principal, params, body }) {
      const options = { owner: principal, graceSeconds: body.grace_seconds };
      return webhooks.rotate(write, params.id, options, ({ id, secret, previousUntil }) => ({
        id,
        secret,
        previous_until: unixSeconds(previousUntil),
      }));
    },
    async testWebhook({ write, principal, params }) {
      return webhooks.test(write, params.id, principal, ({ status, latencyMs, answer, error }) => ({
        status,
        latency_ms: latencyMs,
        answer,
        error,
      }));
    },
    async listWebhookDeliveries({ guildId, params, query }) {
      const { limit, cursor } = query;
      const scope = { route: 'webhook deliveries', guildId, filters: { id: params.id } };
      const position = cursor === undefined ? undefined : positions.read(decodeCursor(scope, cursor));
      const after = position && { atMicros: Number(position.at), id: position.id };
      const found = await webhooks.deliveries(guildId, params.id, { after, limit: limit + 1 });
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      const next = last && positions.write({ at: last.atMicros, id: last.id });
      return ok({
        deliveries: page.map(deliveryView),
        next_cursor: next === undefined ? null : encodeCursor(scope, next),
      });
    },
    async replayWebhook({ write, principal, params, body }) {
      const { from, event_ids: eventIds = [] } = body;
      return webhooks.replay(write, params.id, { owner: principal, from, eventIds }, webhookView);
    },
  };
}
