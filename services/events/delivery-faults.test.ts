import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { PATIENCE } from '#test/patience.ts';
import { newGuild, recorded } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const DAY = 24 * 3_600_000;
const NOBODY = 'http://127.0.0.1:1024/';

const fixture = new WebhookFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

describe('endpoints that never respond, and dead ones', () => {
  test('delay no others, neither of their guild nor of others', async () => {
    const [guildId, other] = [newGuild(), newGuild()];
    const [silent, healthy] = [await fixture.receiver(), await fixture.receiver()];
    silent.respond = () => undefined;
    for (let count = 0; count < 12; count++) {
      await fixture.create(guildId, { url: silent.url });
      await fixture.create(guildId, { url: NOBODY });
    }
    await fixture.create(guildId, { url: healthy.url });
    await fixture.create(other, { url: healthy.url });
    // The first events show which endpoints are slow.
    await fixture.append(guildId, [recorded(1)]);
    await expect.poll(() => silent.received.length, PATIENCE).toBe(12);
    await expect.poll(() => healthy.received.length, PATIENCE).toBe(1);
    for (let number = 2; number < 12; number++) {
      const startedAt = Date.now();
      await fixture.append(guildId, [recorded(number)]);
      await fixture.append(other, [recorded(number)]);
      await expect.poll(() => healthy.received.length, PATIENCE).toBe(2 * number - 1);
      expect(Date.now() - startedAt).toBeLessThan(5_000);
    }
    const [slow] = await fixture.rows<{ count: number }>(
      'SELECT count(*)::int FROM events.endpoints WHERE guild_id = $1 AND is_slow',
      [guildId],
    );
    expect(slow?.count).toBeGreaterThanOrEqual(12);
  }, 60_000);

  test('fail after fifteen seconds without a response', async () => {
    const guildId = newGuild();
    const silent = await fixture.receiver();
    silent.respond = () => undefined;
    const { id } = await fixture.create(guildId, { url: silent.url });
    await fixture.append(guildId, [recorded(1)]);
    await expect.poll(async () => (await fixture.deliveries(guildId, id)).length, PATIENCE).toBe(1);
    const [attempt] = await fixture.deliveries(guildId, id);
    expect(attempt).toMatchObject({ status: null, error: 'timeout', answer: '' });
    expect(attempt?.['latency_ms']).toBeGreaterThanOrEqual(14_900);
    expect(attempt?.['latency_ms']).toBeLessThan(17_000);
  }, 60_000);
});

test('a webhook that fails for five days is disabled, and one that succeeded in between is not', async () => {
  const guildId = newGuild();
  const [failing, recovered] = [await fixture.receiver(), await fixture.receiver()];
  let isAccepting = false;
  failing.respond = (_request, response) => response.writeHead(500).end();
  recovered.respond = (_request, response) => response.writeHead(isAccepting ? 200 : 500).end();
  const first = await fixture.create(guildId, { url: failing.url, types: ['ban.*'] });
  const second = await fixture.create(guildId, { url: recovered.url, types: ['ban.*'] });
  await fixture.append(guildId, [recorded(1)]);
  const since = async (id: string) => (await fixture.webhook(guildId, id)).failing_since;
  await expect.poll(() => since(first.id), PATIENCE).toEqual(expect.any(Number));
  await expect.poll(() => since(second.id), PATIENCE).toEqual(expect.any(Number));
  isAccepting = true;
  await fixture.time.advance(7_000);
  await expect.poll(() => since(second.id), PATIENCE).toBeNull();
  await fixture.time.advance(5 * DAY);
  // A replica looks for failing webhooks when it starts, and then once a minute.
  const replica = await fixture.startEvents();
  await expect
    .poll(() => fixture.webhook(guildId, first.id), PATIENCE)
    .toMatchObject({
      enabled: false,
      disabled_reason: 'failing',
    });
  expect(await fixture.webhook(guildId, second.id)).toMatchObject({ enabled: true });
  expect((await fixture.read(guildId)).at(-1)).toMatchObject({
    type: 'webhook.disabled',
    data: { id: first.id, disabled_reason: 'failing' },
  });
  await replica.stop();
});

describe('erasing', () => {
  test('a person clears the responses to events that named the person', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    receiver.respond = (request, response) => response.end(request.body);
    const { id } = await fixture.create(guildId, { url: receiver.url, types: ['ban.*'] });
    await fixture.append(guildId, [recorded(1, { persons: ['game:7001'] }), recorded(2, { persons: ['game:7002'] })]);
    await expect.poll(async () => (await fixture.deliveries(guildId, id)).length, PATIENCE).toBe(2);
    const erasure = fixture.operators(ErasureServiceService);
    const { tables } = await erasure.eraseUser({ guildId, gameId: 7001, chatId: undefined, dryRun: false });
    expect(tables).toContainEqual({ table: 'events.deliveries', rows: 1 });
    const answers = (await fixture.deliveries(guildId, id)).map(({ seq, answer }) => [seq, typeof answer]);
    expect(answers).toEqual([
      [2, 'string'],
      [1, 'object'],
    ]);
  });

  test('a guild deletes its webhooks and everything about their deliveries', async () => {
    const guildId = newGuild();
    await fixture.create(guildId, { url: NOBODY }, { key: 'one' });
    await fixture.append(guildId, [recorded(1)]);
    const rows = (table: string) => fixture.rows(`SELECT FROM events.${table} WHERE guild_id = $1`, [guildId]);
    await expect.poll(async () => (await rows('parked')).length, PATIENCE).toBe(1);
    const erasure = fixture.operators(ErasureServiceService);
    expect((await erasure.eraseGuild({ guildId, dryRun: false })).isDone).toBe(true);
    await wait(1_000);
    for (const table of ['endpoints', 'parked', 'deliveries', 'idempotency', 'log'])
      expect(await rows(table)).toEqual([]);
  });
});

test('metrics count deliveries by outcome', async () => {
  const guildId = newGuild();
  const receiver = await fixture.receiver();
  const before = (await fixture.metric('webhook_deliveries_total', '{outcome="delivered"}')) ?? 0;
  const failed = (await fixture.metric('webhook_deliveries_total', '{outcome="failed"}')) ?? 0;
  await fixture.create(guildId, { url: receiver.url });
  await fixture.create(guildId, { url: NOBODY });
  await fixture.append(guildId, [recorded(1)]);
  const metric = (outcome: string) => fixture.metric('webhook_deliveries_total', `{outcome="${outcome}"}`);
  await expect.poll(() => metric('delivered'), PATIENCE).toBeGreaterThan(before);
  await expect.poll(() => metric('failed'), PATIENCE).toBeGreaterThan(failed);
  expect(await fixture.metric('webhook_delivery_delay_seconds_count')).toBeGreaterThan(0);
});
