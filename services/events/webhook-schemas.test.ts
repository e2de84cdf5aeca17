import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { EVENT_TYPES } from '#proto/rest/events/index.ts';
import { webhooksRoutes } from '#proto/rest/webhooks.ts';
import { PATIENCE } from '#test/patience.ts';
import { newGuild, recorded } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const fixture = new WebhookFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const faults = (schema: z.ZodObject, data: unknown) => z.strictObject(schema.shape).safeParse(data).error?.issues;

test('responses and the event of a disabled webhook fit their schemas', async () => {
  const guildId = newGuild();
  const receiver = await fixture.receiver();
  receiver.respond = (_request, response) => response.writeHead(500).end('no');
  const body = { guild_id: guildId, url: receiver.url, types: ['*'] };
  const created = (await fixture.send(guildId, 'POST', '/webhooks', body)).body.data;
  expect(faults(webhooksRoutes.createWebhook.data, created)).toBeUndefined();
  await fixture.append(guildId, [recorded(1)]);
  await expect.poll(async () => (await fixture.deliveries(guildId, created.id)).length, PATIENCE).toBe(1);
  for (const [name, method, path, sent] of [
    ['listWebhooks', 'GET', ''],
    ['getWebhook', 'GET', `/${created.id}`],
    ['listWebhookDeliveries', 'GET', `/${created.id}/deliveries`],
    ['updateWebhook', 'PATCH', `/${created.id}`, { description: 'New' }],
    ['rotateWebhookSecret', 'POST', `/${created.id}/rotate`, {}],
    ['testWebhook', 'POST', `/${created.id}/test`, {}],
    ['replayWebhook', 'POST', `/${created.id}/replay`, { from: 1 }],
    ['updateWebhook', 'PATCH', `/${created.id}`, { enabled: false }],
    ['deleteWebhook', 'DELETE', `/${created.id}`],
  ] as const) {
    const { status, body: response } = await fixture.send(guildId, method, `/webhooks${path}`, sent);
    expect({ name, status, faults: faults(webhooksRoutes[name].data, response.data) }).toEqual({ name, status: 200 });
  }
  const disabled = (await fixture.read(guildId)).find(({ type }) => type === 'webhook.disabled');
  expect(faults(EVENT_TYPES['webhook.disabled'].data, disabled?.data)).toBeUndefined();
});
