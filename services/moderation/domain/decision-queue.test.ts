import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { type DeliverDecisionRequest } from '#proto/gen/guild/activity/v1/commands.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { connect } from '#test/network/grpc.ts';
import { ADMIN_SECRET, ModerationFixture, newGuild } from '../fixture.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const fixture = new ModerationFixture(systemClock);
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

let guildId: string;
beforeEach(() => {
  guildId = newGuild();
});

const decide = (action: string, body: Record<string, unknown>, guild = guildId) =>
  fixture.decide(action, body, { guildId: guild });
const storedOf = (guild: string) => fixture.activity.stored.filter((event) => event.guildId === guild);
const callsOf = (guild: string) => fixture.activity.calls.filter((event) => event.guildId === guild);

/** The actions in the guild's log, the oldest first. */
async function actionsInLog(guild = guildId): Promise<string[]> {
  const rows = await fixture.query<{ action: string }>(
    'SELECT action FROM moderation.log WHERE guild_id = $1 ORDER BY id',
    [guild],
  );
  return rows.map(({ action }) => action);
}

/** A client of the admin methods for queues. */
const connectQueueAdmin = () => {
  const address = fixture.moderation.addresses.grpc ?? '';
  return connect(QueueAdminServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
};

async function deadLetters() {
  const { client, close } = connectQueueAdmin();
  const request = { queue: 'decisions', guildId, state: 'dead', limit: 100, position: '' };
  const { items } = await client.listQueueItems(request).finally(close);
  return items;
}

/** Waits until every decision of the guild is delivered or a dead letter. */
async function waitUntilDelivered(guild = guildId): Promise<void> {
  await expect.poll(() => fixture.undelivered(guild)).toBe(0);
}

describe('a decision is delivered to activity', () => {
  test('with everything that a game server needs', async () => {
    const ban = await decide('ban', {
      game_id: 7001,
      game_username: 'Ada',
      reason: 'Exploits\n2nd',
      moderator_game_id: 5,
      duration: '1h',
      scope: 'place',
      place_id: 41,
      source_server_id: 'server-1',
    });
    await decide('unban', { game_id: 7001, reason: 'Appeal', moderator_chat_id: '920000000000000001' });
    await waitUntilDelivered();
    const { id, created_at: createdAt, expires_at: expiresAt } = ban.body.data;
    const [first, second] = storedOf(guildId) as [DeliverDecisionRequest, DeliverDecisionRequest];
    expect({ ...first, payload: JSON.parse(first.payload) }).toEqual({
      guildId,
      eventId: expect.stringMatching(UUID),
      type: 'ban',
      target: { gameId: 7001, gameUsername: 'Ada' },
      payload: {
        id,
        reason: 'Exploits\n2nd',
        scope: 'place',
        place_id: 41,
        moderator_game_id: 5,
        moderator_chat_id: null,
        duration_seconds: 3600,
        expires_at: expiresAt,
        is_permanent: false,
      },
      issuedBy: '5',
      sourceServerId: 'server-1',
      placeId: 41,
      createdAt,
      expiresAt,
    });
    expect({ ...second, payload: JSON.parse(second.payload) }).toEqual({
      guildId,
      eventId: expect.stringMatching(UUID),
      type: 'unban',
      target: { gameId: 7001, gameUsername: 'Ada' },
      payload: {
        id,
        reason: 'Appeal',
        scope: 'place',
        place_id: 41,
        moderator_game_id: null,
        moderator_chat_id: '920000000000000001',
      },
      issuedBy: '920000000000000001',
      placeId: 41,
      createdAt: expect.any(Number),
    });
  });

  test('once, in the order of the log, also if two replicas make the decisions', async () => {
    const other = await fixture.startReplica();
    const guilds = [guildId, newGuild(), newGuild()];
    const work = guilds.map(async (guild) => {
      for (let count = 0; count < 10; count++) {
        const at = count % 2 ? other : fixture.moderation;
        await fixture.decide('ban', { game_id: 1, replace: true }, { guildId: guild, at });
        await fixture.decide('mute', { game_id: 1, replace: true }, { guildId: guild, at });
      }
    });
    await Promise.all(work);
    for (const guild of guilds) {
      await waitUntilDelivered(guild);
      expect(fixture.activity.typesOf(guild)).toEqual(await actionsInLog(guild));
      expect(callsOf(guild)).toHaveLength(38);
    }
    await other.stop();
  });

  test('in order after activity was down, while decisions could still be made', async () => {
    await fixture.activity.stop();
    for (const action of ['ban', 'unban', 'mute', 'unmute', 'ban']) {
      expect((await decide(action, { game_id: 1 })).status).toBeLessThan(300);
    }
    expect(await fixture.undelivered(guildId)).toBe(5);
    await fixture.activity.start();
    await waitUntilDelivered();
    expect(fixture.activity.typesOf(guildId)).toEqual(['ban', 'unban', 'mute', 'unmute', 'ban']);
  });

  test('and until then the age of the oldest one is exported as a metric', async () => {
    const oldestSeconds = async () => {
      const metrics = await (await fetch(`http://${fixture.moderation.addresses.admin}/metrics`)).text();
      return Number(/^moderation_outbox_oldest_seconds (.+)$/m.exec(metrics)?.[1]);
    };
    await expect.poll(oldestSeconds).toBe(0);
    fixture.activity.failing.set(guildId, 'UNAVAILABLE');
    await decide('ban', { game_id: 1 });
    await decide('unban', { game_id: 1 });
    const decidedAt = performance.now();
    await expect.poll(oldestSeconds).toBeGreaterThan(1);
    expect(await oldestSeconds()).toBeLessThanOrEqual((performance.now() - decidedAt) / 1000 + 1);
    fixture.activity.failing.delete(guildId);
    await waitUntilDelivered();
    await expect.poll(oldestSeconds).toBe(0);
  });

  test('again as the same event if the response was lost', async () => {
    fixture.activity.losesResponses = true;
    await decide('ban', { game_id: 1 });
    await expect.poll(() => callsOf(guildId).length).toBeGreaterThan(1);
    fixture.activity.losesResponses = false;
    await decide('unban', { game_id: 1 });
    await waitUntilDelivered();
    expect(fixture.activity.typesOf(guildId)).toEqual(['ban', 'unban']);
    const repeats = callsOf(guildId).filter(({ type }) => type === 'ban');
    expect(new Set(repeats.map(({ eventId }) => eventId)).size).toBe(1);
  });
});

describe('a guild whose deliveries', () => {
  test.each(['UNAVAILABLE', 'INTERNAL'] as const)(
    'fail with %s does not delay other guilds, and continues in order',
    async (code) => {
      fixture.activity.failing.set(guildId, code);
      for (const action of ['ban', 'unban', 'ban']) await decide(action, { game_id: 1 });
      await expect.poll(() => callsOf(guildId).length).toBeGreaterThan(1);
      const others = Array.from({ length: 10 }, newGuild);
      const started = performance.now();
      for (const other of others) await decide('ban', { game_id: 1 }, other);
      for (const other of others) await waitUntilDelivered(other);
      expect(performance.now() - started).toBeLessThan(5_000);
      expect(new Set(callsOf(guildId).map(({ eventId }) => eventId)).size).toBe(1);
      fixture.activity.failing.delete(guildId);
      await waitUntilDelivered();
      expect(fixture.activity.typesOf(guildId)).toEqual(['ban', 'unban', 'ban']);
    },
  );

  test('get no response does not delay other guilds', async () => {
    fixture.activity.hanging.add(guildId);
    await decide('ban', { game_id: 1 });
    await expect.poll(() => callsOf(guildId).length).toBe(1);
    const other = newGuild();
    await decide('ban', { game_id: 1 }, other);
    await expect.poll(() => fixture.undelivered(other), { timeout: 2_000 }).toBe(0);
    fixture.activity.hanging.delete(guildId);
    await waitUntilDelivered();
    expect(fixture.activity.typesOf(guildId)).toEqual(['ban']);
  });

  test('always fail for one decision continues with the next one after that has become a dead letter', async () => {
    fixture.activity.failing.set(guildId, 'INTERNAL');
    await decide('ban', { game_id: 1 });
    await decide('mute', { game_id: 2 });
    await expect.poll(() => callsOf(guildId).length).toBeGreaterThan(0);
    // As if it had failed 11 times before.
    await fixture.query(
      `UPDATE moderation.outbox SET failures = 11, due_at = now()
       WHERE guild_id = $1 AND log_id = (SELECT min(log_id) FROM moderation.outbox WHERE guild_id = $1)`,
      [guildId],
    );
    await expect
      .poll(() => deadLetters())
      .toMatchObject([{ state: 'dead', lastError: expect.stringMatching(/^INTERNAL/) }]);
    fixture.activity.failing.delete(guildId);
    await waitUntilDelivered();
    expect(fixture.activity.typesOf(guildId)).toEqual(['mute']);
  });

  test('became dead letters gets them after a retry by an operator, except for superseded ones', async () => {
    fixture.activity.failing.set(guildId, 'INVALID_REQUEST');
    await decide('ban', { game_id: 1 });
    await decide('ban', { game_id: 2 });
    await waitUntilDelivered();
    fixture.activity.failing.delete(guildId);
    await decide('unban', { game_id: 2 });
    await waitUntilDelivered();
    const { client, close } = connectQueueAdmin();
    expect(await client.retryQueueItems({ queue: 'decisions', guildId })).toEqual({
      retried: 2,
      isMore: false,
      startedAtMs: expect.any(Number),
    });
    close();
    await waitUntilDelivered();
    // If the ban was delivered after its unban, it would stay on game servers.
    expect(storedOf(guildId).map(({ type, target }) => [type, target?.gameId])).toEqual([
      ['unban', 2],
      ['ban', 1],
    ]);
    expect(await deadLetters()).toEqual([]);
  });

  test('became dead letters never gets them after an operator skipped them', async () => {
    fixture.activity.failing.set(guildId, 'INVALID_REQUEST');
    await decide('ban', { game_id: 1 });
    await waitUntilDelivered();
    const [dead] = await deadLetters();
    const { client, close } = connectQueueAdmin();
    await client.skipQueueItem({ queue: 'decisions', guildId, id: dead?.id ?? '' });
    await expect(client.retryQueueItems({ queue: 'decisions', guildId, id: dead?.id ?? '' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    close();
    expect(await deadLetters()).toEqual([]);
  });

  test('are rejected permanently continues with the next one', async () => {
    fixture.activity.failing.set(guildId, 'INVALID_REQUEST');
    await decide('ban', { game_id: 1 });
    await waitUntilDelivered();
    fixture.activity.failing.delete(guildId);
    await decide('unban', { game_id: 1 });
    await waitUntilDelivered();
    expect(fixture.activity.typesOf(guildId)).toEqual(['unban']);
  });
});

test('a replica can start, make decisions and stop while activity is down', async () => {
  const alone = await fixture.startReplica({ ACTIVITY_GRPC_ADDRESS: '127.0.0.1:1' });
  const otherGuild = newGuild();
  expect((await fixture.decide('ban', { game_id: 1 }, { guildId: otherGuild, at: alone })).status).toBe(201);
  await alone.stop();
  // Other replicas deliver what it left in the outbox.
  await waitUntilDelivered(otherGuild);
});
