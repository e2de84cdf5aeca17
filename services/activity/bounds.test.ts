import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ActivityFixture, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const MAX = 1_000;

describe(`when ${MAX} commands wait for a server`, () => {
  test('one more is rejected until one is acknowledged or has expired', async () => {
    const guildId = newGuild();
    await fixture.fillQueue(guildId, 'a', MAX - 1);
    const [last = ''] = await fixture.send('a', { guildId, ttlSeconds: 60 });
    const message = 'The server has 1000 commands waiting, which is the maximum';
    await expect(fixture.send('a', { guildId })).rejects.toMatchObject({ code: 'CONFLICT', message });
    expect(await fixture.send('b', { guildId })).toHaveLength(1);
    await fixture.ack('a', last, {}, { guildId });
    expect(await fixture.send('a', { guildId, ttlSeconds: 5 })).toHaveLength(1);
    await expect(fixture.send('a', { guildId })).rejects.toMatchObject({ code: 'CONFLICT' });
    await fixture.advance(5_000);
    expect(await fixture.send('a', { guildId })).toHaveLength(1);
  });

  test('shared commands that were handed over to it count, too', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    await fixture.fillQueue(guildId, 'a', MAX - 1);
    await fixture.enqueue({ guildId });
    await fixture.take('a', '?limit=50', { guildId });
    expect(await fixture.send('a', { guildId })).toHaveLength(1);
    await expect(fixture.send('a', { guildId })).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe(`when a guild has ${MAX} open commands for several servers`, () => {
  const fill = (guildId: string) =>
    fixture.database.query(
      `INSERT INTO activity.commands (guild_id, server_id, type, payload, created_at, live_at, expires_at, servers)
       SELECT $1, '', 'message', '{}', $2, $2, $2::timestamptz + interval '1 minute', 1 FROM generate_series(1, $3)`,
      [guildId, new Date(fixture.clock.now()), MAX],
    );

  test('one more is a conflict until they have expired, but one for a named server is not', async () => {
    const guildId = newGuild();
    await fill(guildId);
    const message = 'The guild has 1000 open commands for several servers, which is the maximum';
    await expect(fixture.enqueue({ guildId })).rejects.toMatchObject({ code: 'CONFLICT', message });
    expect(await fixture.send('a', { guildId })).toHaveLength(1);
    await fixture.advance(60_000);
    expect((await fixture.enqueue({ guildId })).commandIds).toHaveLength(1);
  });

  test('a decision is still sent, and the oldest command expires instead', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    await fill(guildId);
    const eventId = randomUUID();
    expect(await fixture.deliver({ guildId, eventId })).toBe(1);
    expect(await fixture.deliver({ guildId, eventId })).toBe(1);
    const open = await fixture.database.query<{ type: string; isOpen: boolean }>(
      'SELECT type, expires_at > $2 AS "isOpen" FROM activity.commands WHERE guild_id = $1 ORDER BY place',
      [guildId, new Date(fixture.clock.now())],
    );
    expect(open.map(({ isOpen }) => isOpen)).toEqual([false, ...Array(MAX).fill(true)]);
    expect(open.at(-1)?.type).toBe('ban');
  });
});

describe('when a guild has registered 1,000 places', () => {
  test('another one is a conflict, while a registered one can be registered again', async () => {
    const guildId = newGuild();
    await fixture.database.query(
      `INSERT INTO activity.games (guild_id, universe_id, place_id, name, registered_at, updated_at)
       SELECT $1, 1, n, 'x', now(), now() FROM generate_series(1, 999) n`,
      [guildId],
    );
    const register = (place: number) =>
      fixture.post('/game/games/register', { universe_id: 1, place_id: place, name: 'Harbor' }, { guildId });
    const added = await Promise.all([1_001, 1_002, 1_003].map(register));
    const [registered, ...others] = added.toSorted((a, b) => a.status - b.status);
    expect([registered?.status, ...others.map(({ status }) => status)]).toEqual([200, 409, 409]);
    expect(others[0]?.body).toMatchObject({
      message: 'The guild has 1000 registered places, which is the maximum',
      details: { code: 'CONFLICT' },
    });
    expect((await register(500)).body.data.created).toBe(false);
  });
});

describe('counters', () => {
  const count = async (name: string, labels = '') => (await fixture.metric(name, labels)) ?? 0;
  /** The increase of a counter during `work`. */
  async function growth(name: string, labels: string, work: () => Promise<unknown>): Promise<number> {
    const before = await count(name, labels);
    await work();
    return (await count(name, labels)) - before;
  }

  test('a decision that is delivered several times counts once', async () => {
    const guildId = newGuild();
    await Promise.all(['a', 'b'].map((server) => fixture.beat(server, {}, { guildId })));
    const decision = { guildId, eventId: randomUUID(), type: 'unmute' };
    const increase = await growth('activity_commands_enqueued_total', '{type="unmute"}', async () => {
      for (let call = 0; call < 3; call++) expect(await fixture.deliver(decision)).toBe(2);
    });
    expect(increase).toBe(2);
  });

  test('a session that is ended eight times counts once, and an unknown session does not count', async () => {
    const session = { game_id: 7001, server_id: 'a', place_id: 1 };
    const { body } = await fixture.post('/staff/game/session/start', session);
    const ended = await growth('activity_sessions_total', '{change="ended"}', async () => {
      const end = (id: string) => fixture.post('/staff/game/session/end', { session_id: id });
      await Promise.all(Array.from({ length: 8 }, () => end(body.data.session_id)));
      await end(randomUUID());
    });
    expect(ended).toBe(1);
  });

  test('a transaction that is rolled back does not count', async () => {
    await fixture.database.query(
      `CREATE FUNCTION fail_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'failed'; END $$`,
    );
    await fixture.database.query(`
      CREATE CONSTRAINT TRIGGER fail_commit AFTER INSERT OR UPDATE ON activity.sessions
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_commit()`);
    const started = await growth('activity_sessions_total', '{change="started"}', async () => {
      const session = { game_id: 7002, server_id: 'a', place_id: 1 };
      expect((await fixture.post('/staff/game/session/start', session)).status).toBe(500);
    });
    await fixture.database.query('DROP TRIGGER fail_commit ON activity.sessions');
    expect(started).toBe(0);
  });
});
