import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { newGuild, recorded, recordedFrom } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const fixture = new WebhookFixture();
/** Waits until `count` attempts are stored, so that the database's clock can be moved. */
const stored = (guildId: string, id: string, count: number) =>
  vi.waitFor(async () => assert.equal((await fixture.deliveries(guildId, id)).length, count), PATIENCE);
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

describe('a webhook', () => {
  test('receives each event once, in order, as GET /events shows it, and its cursor follows', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, recordedFrom(1, 60));
    await receiver.expectSeqs(...Array.from({ length: 60 }, (_, index) => index + 1));
    expect(receiver.received.map(({ event }) => event)).toEqual(await fixture.read(guildId));
    await expect.poll(async () => (await fixture.webhook(guildId, id)).delivered_seq, PATIENCE).toBe(60);
    await fixture.append(guildId, [recorded(61)]);
    await expect.poll(() => receiver.seqs.at(-1), PATIENCE).toBe(61);
    expect(receiver.received).toHaveLength(61);
  });

  test('gets signatures that the package standardwebhooks verifies, with both secrets during a rotation', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id, secret } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, [recorded(1)]);
    await receiver.expectSeqs(1);
    const [first] = receiver.received;
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toEqual(first?.event);
    expect(first?.headers['webhook-id']).toBe(first?.event.id);

    const rotated = await fixture.send(guildId, 'POST', `/webhooks/${id}/rotate`, {});
    await fixture.append(guildId, [recorded(2)]);
    await receiver.expectSeqs(1, 2);
    const second = receiver.received[1];
    for (const each of [secret, rotated.body.data.secret]) {
      expect(new Webhook(each).verify(second?.body ?? '', second?.headers ?? {})).toEqual(second?.event);
    }
    expect(second?.headers['webhook-signature']?.split(' ')).toHaveLength(2);

    await fixture.send(guildId, 'POST', `/webhooks/${id}/rotate`, { grace_seconds: 0 });
    await fixture.append(guildId, [recorded(3)]);
    await receiver.expectSeqs(1, 2, 3);
    expect(receiver.received[2]?.headers['webhook-signature']?.split(' ')).toHaveLength(1);
    const { body = '', headers = {} } = receiver.received[2] ?? {};
    expect(() => new Webhook(rotated.body.data.secret).verify(body, headers)).toThrow('No matching signature');
  });

  test('receives only its types, and of these only those that its key may read', async () => {
    const guildId = newGuild();
    const [bans, all] = [await fixture.receiver(), await fixture.receiver()];
    await fixture.create(guildId, { url: bans.url, types: ['ban.*'] });
    const { id } = await fixture.create(
      guildId,
      { url: all.url },
      { principal: { scopes: ['webhooks:write', 'members:read'], legacy: false } },
    );
    const types = ['binding.created', 'ban.created', 'link.created', 'ban.lifted', 'session.started'];
    await fixture.append(
      guildId,
      types.map((type, index) => recorded(index + 1, { type })),
    );
    await bans.expectSeqs(2, 4);
    await all.expectSeqs(1, 3);
    await expect.poll(async () => (await fixture.webhook(guildId, id)).delivered_seq, PATIENCE).toBe(5);
  });

  test('with the format chat receives a message of the chat platform instead of the event', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    await fixture.create(guildId, { url: receiver.url, format: 'chat' });
    await fixture.append(guildId, [recorded(1, { data: JSON.stringify({ game_id: 7001, reason: 'Cheats' }) })]);
    await expect.poll(() => receiver.received.length, PATIENCE).toBe(1);
    expect(receiver.received[0]?.event).toMatchObject({ content: expect.stringContaining('7001') });
  });

  test('that does not accept an event receives the later ones, and that event again five seconds later', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    let failures = 2;
    receiver.respond = ({ event }, response) => {
      if (event.seq === 2 && failures-- > 0) response.writeHead(500).end('out of order');
      else response.end('thanks');
    };
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, recordedFrom(1, 4));
    await receiver.expectSeqs(1, 2, 3, 4);
    await stored(guildId, id, 4);
    await fixture.time.advance(7_000);
    await receiver.expectSeqs(1, 2, 3, 4, 2);
    await stored(guildId, id, 5);
    await fixture.time.advance(6 * 60_000);
    await receiver.expectSeqs(1, 2, 3, 4, 2, 2);
    await stored(guildId, id, 6);
    const ofSecond = (await fixture.deliveries(guildId, id)).filter(({ seq }) => seq === 2);
    expect(ofSecond).toMatchObject([
      { attempt: 3, status: 200, answer: 'thanks', error: null, next_attempt_at: null },
      { attempt: 2, status: 500, answer: 'out of order', error: null },
      { attempt: 1, status: 500, answer: 'out of order', error: null },
    ]);
    const delays = ofSecond.slice(1).map((row) => Number(row['next_attempt_at']) - Number(row['at']));
    expect(delays[1]).toBeGreaterThanOrEqual(5);
    expect(delays[1]).toBeLessThanOrEqual(6);
    expect(delays[0]).toBeGreaterThanOrEqual(300);
    expect(delays[0]).toBeLessThanOrEqual(331);
    expect((await fixture.webhook(guildId, id)).failing_since).toBeNull();
    expect(await fixture.rows('SELECT FROM events.parked WHERE guild_id = $1', [guildId])).toEqual([]);
    const state = () => fixture.rows('SELECT parked, retry_at FROM events.endpoints WHERE guild_id = $1', [guildId]);
    await expect.poll(state, PATIENCE).toEqual([{ parked: 0, retry_at: null }]);
  });

  test('fails with a redirect, which is not followed, and with each status outside of 2xx', async () => {
    const guildId = newGuild();
    const [receiver, target] = [await fixture.receiver(), await fixture.receiver()];
    const statuses = [302, 200, 404, 299];
    receiver.respond = ({ event }, response) =>
      response.writeHead(statuses[event.seq - 1] ?? 200, { location: target.url }).end();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, recordedFrom(1, 4));
    await receiver.expectSeqs(1, 2, 3, 4);
    const parked = 'SELECT seq FROM events.parked WHERE guild_id = $1 ORDER BY seq';
    await expect.poll(async () => (await fixture.webhook(guildId, id)).delivered_seq, PATIENCE).toBe(4);
    expect(await fixture.rows(parked, [guildId])).toEqual([{ seq: '1' }, { seq: '3' }]);
    expect(target.received).toEqual([]);
  });

  test('gives up an event after ten attempts over three days', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    receiver.respond = (_request, response) => response.writeHead(503).end();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, [recorded(1)]);
    for (const [index, hours] of [0, 0.01, 0.2, 0.6, 2.3, 5.6, 11.1, 15.5, 22.1, 26.5].entries()) {
      await fixture.time.advance(hours * 3_600_000);
      await stored(guildId, id, index + 1);
    }
    expect((await fixture.deliveries(guildId, id))[0]).toMatchObject({ attempt: 10, next_attempt_at: null });
    expect(await fixture.rows('SELECT FROM events.parked WHERE guild_id = $1', [guildId])).toEqual([]);
    await fixture.time.advance(30 * 3_600_000);
    await wait(3_000);
    expect(receiver.received).toHaveLength(10);
  });

  test('waits while 1,000 events are parked, and continues when one of them was delivered', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.rows(
      `INSERT INTO events.parked (guild_id, endpoint_id, seq, event_id, attempts, next_attempt_at)
       SELECT $1, $2, 1000000 + n, gen_random_uuid(), 3, 'infinity' FROM generate_series(1, 999) AS n`,
      [guildId, id],
    );
    await fixture.rows("UPDATE events.endpoints SET parked = 999, retry_at = 'infinity' WHERE guild_id = $1", [
      guildId,
    ]);
    let isAccepting = false;
    receiver.respond = (_request, response) => response.writeHead(isAccepting ? 200 : 500).end();
    await fixture.append(guildId, recordedFrom(1, 3));
    await receiver.expectSeqs(1);
    await stored(guildId, id, 1);
    await wait(2_500);
    expect(receiver.seqs).toEqual([1]);
    isAccepting = true;
    await fixture.time.advance(7_000);
    await receiver.expectSeqs(1, 1, 2, 3);
  });
});

describe('an event', () => {
  test('is sent again by another process if the first one died between the request and the stored cursor', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    // The state that a process leaves that is killed after the receiver got event 1: the lease and the old cursor.
    await fixture.rows(
      `UPDATE events.endpoints SET lease = $2, leased_until = test_time.clock_timestamp() + interval '30 seconds'
       WHERE guild_id = $1`,
      [guildId, randomUUID()],
    );
    await fixture.append(guildId, recordedFrom(1, 2));
    await wait(2_500);
    expect(receiver.received).toEqual([]);
    await fixture.time.advance(31_000);
    await receiver.expectSeqs(1, 2);
    await expect.poll(async () => (await fixture.webhook(guildId, id)).delivered_seq, PATIENCE).toBe(2);
  });

  test('is sent by one of two replicas only', async () => {
    const other = await fixture.startEvents();
    const guilds = Array.from({ length: 20 }, newGuild);
    const receiver = await fixture.receiver();
    for (const guildId of guilds) await fixture.create(guildId, { url: receiver.url });
    await Promise.all(guilds.map((guildId) => fixture.append(guildId, recordedFrom(1, 20))));
    await expect.poll(() => receiver.received.length, PATIENCE).toBeGreaterThanOrEqual(400);
    await wait(1_500);
    await other.stop();
    expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(400);
    expect(receiver.received).toHaveLength(400);
  });
});
