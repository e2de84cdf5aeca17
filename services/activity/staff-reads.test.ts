import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const now = () => unixSeconds(fixture.clock.now());
const NOT_A_CURSOR = { path: 'query.cursor', message: 'is not a next_cursor of this list with these filters' };

async function start(guildId: string, gameId: number, fields: object = {}): Promise<string> {
  const body = { game_id: gameId, server_id: 's1', place_id: PLACE, ...fields };
  return (await fixture.post('/staff/game/session/start', body, { guildId })).body.data.session_id;
}
const end = (guildId: string, id: string, reason?: string) =>
  fixture.post('/staff/game/session/end', { session_id: id, reason }, { guildId });
async function log(guildId: string, fields: object = {}): Promise<string> {
  const body = { actor_game_id: 7001, action_type: 'kick', action_id: randomUUID(), ...fields };
  return (await fixture.post('/staff/game/action', body, { guildId })).body.data.id;
}

/** Describes one of the two lists for the tests that concern both. */
const LISTS = [
  {
    name: 'sessions',
    idField: 'session_id',
    message: 'Staff sessions listed',
    add: (guildId: string, n: number) => start(guildId, 7_000 + n),
    badQuery: '?limit=101&game_id=x&from=-1&to=x&open=yes',
    faults: ['limit', 'game_id', 'from', 'to', 'open'],
    otherFilter: '&open=true',
  },
  {
    name: 'actions',
    idField: 'id',
    message: 'Staff actions listed',
    add: (guildId: string, n: number) => log(guildId, { actor_game_id: 7_000 + n, occurred_at: now() }),
    badQuery: '?limit=0&actor_game_id=0&target_game_id=x&action_type=&from=x&to=-1',
    faults: ['limit', 'actor_game_id', 'target_game_id', 'action_type', 'from', 'to'],
    otherFilter: '&action_type=kick',
  },
];

describe.each(LISTS)('staff $name', ({ name, idField, message, add, badQuery, faults, otherFilter }) => {
  const list = (guildId: string, query = '') => fixture.get(`/guilds/${guildId}/staff/${name}${query}`, { guildId });
  const idsOf = (data: Record<string, Record<string, string>[]>) => (data[name] ?? []).map((row) => row[idField]);

  test('of a guild without any are an empty list', async () => {
    const { status, body } = await list(newGuild());
    expect([status, body.message, body.data]).toEqual([200, message, { [name]: [], next_cursor: null }]);
  });

  test('of the same millisecond are all on the pages, each once, also if others are added in between', async () => {
    const guildId = newGuild();
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.push(await add(guildId, n));
    await add(newGuild(), 0);
    const found: (string | undefined)[] = [];
    const first = (await list(guildId, '?limit=3')).body.data;
    await fixture.advance(1_000);
    const added = await add(guildId, 50);
    let page = first;
    for (;;) {
      found.push(...idsOf(page));
      if (page.next_cursor === null) break;
      page = (await list(guildId, `?limit=3&cursor=${page.next_cursor}`)).body.data;
    }
    expect(found).toEqual(ids.toSorted().toReversed());
    expect(idsOf((await list(guildId, '?limit=1')).body.data)).toEqual([added]);
  });

  test('with a cursor of another list, or a made-up one, are rejected', async () => {
    const guildId = newGuild();
    for (let n = 0; n < 2; n++) await add(guildId, n);
    const { next_cursor: cursor } = (await list(guildId, '?limit=1')).body.data;
    const madeUp = encodeCursor({ route: `staff ${name}`, guildId, filters: {} }, 'x');
    for (const [guild, query] of [
      [newGuild(), `?cursor=${cursor}`],
      [guildId, `?cursor=${cursor}${otherFilter}`],
      [guildId, `?cursor=${cursor}&from=1`],
      [guildId, `?cursor=${madeUp}`],
      [guildId, '?cursor=x'],
    ] as const) {
      const { status, body } = await list(guild, query);
      expect([status, body.details.errors]).toEqual([400, [NOT_A_CURSOR]]);
    }
  });

  test('with faults in the query get a response that lists each', async () => {
    const { status, body } = await list(newGuild(), badQuery);
    const paths = body.details.errors.map(({ path }: { path: string }) => path);
    expect([status, paths.toSorted()]).toEqual([400, faults.map((field) => `query.${field}`).toSorted()]);
  });

  test('are those from `from` to `to`, both included', async () => {
    const guildId = newGuild();
    const ids: string[] = [];
    const first = now();
    for (let n = 0; n < 5; n++) {
      ids.push(await add(guildId, n));
      await fixture.advance(1_000);
    }
    const range = `?from=${first + 1}&to=${first + 3}`;
    expect(idsOf((await list(guildId, range)).body.data)).toEqual([ids[3], ids[2], ids[1]]);
    const page = (await list(guildId, `${range}&limit=2`)).body.data;
    const rest = (await list(guildId, `${range}&limit=2&cursor=${page.next_cursor}`)).body.data;
    expect([idsOf(page), idsOf(rest)]).toEqual([[ids[3], ids[2]], [ids[1]]]);
  });
});

test('a session is listed with its end, idle time and reason; open ones and those of a member can be selected', async () => {
  const guildId = newGuild();
  const startedAt = now();
  const ended = await start(guildId, 7001, { game_username: 'Ada' });
  await fixture.advance(10_000);
  const beats = { server_id: 's1', sessions: [{ session_id: ended, idle_seconds: 4 }] };
  await fixture.post('/staff/game/heartbeat', beats, { guildId });
  await end(guildId, ended, 'left');
  const open = await start(guildId, 7001);
  const other = await start(guildId, 7002);
  const list = async (query: string) =>
    (await fixture.get(`/guilds/${guildId}/staff/sessions${query}`, { guildId })).body.data.sessions;
  const idsOf = async (query: string) =>
    (await list(query)).map(({ session_id: id }: { session_id: string }) => id).toSorted();
  expect(await list('?game_id=7001&open=false')).toEqual([
    {
      session_id: ended,
      game_id: 7001,
      game_username: 'Ada',
      place_id: PLACE,
      server_id: 's1',
      started_at: startedAt,
      ended_at: startedAt + 10,
      idle_seconds: 4,
      end_reason: 'left',
    },
  ]);
  expect(await idsOf('?open=true')).toEqual([open, other].toSorted());
  expect(await idsOf('?game_id=7001')).toEqual([ended, open].toSorted());
  const [listed] = await list('?game_id=7002');
  expect(listed).toMatchObject({ ended_at: null, end_reason: null, game_username: null, idle_seconds: 0 });
});

test('an action is listed as it was logged; those by a member, about a player or of a type can be selected', async () => {
  const guildId = newGuild();
  const details = { reason: 'spam', nested: { list: [1] } };
  const place = { place_id: PLACE, server_id: 's1' };
  const kick = await log(guildId, { target_game_id: 7004, details, ...place, occurred_at: now() - 60 });
  const note = await log(guildId, { actor_game_id: 7002, action_type: 'note' });
  const list = async (query: string) =>
    (await fixture.get(`/guilds/${guildId}/staff/actions${query}`, { guildId })).body.data.actions;
  const kicked = {
    id: kick,
    actor_game_id: 7001,
    action_type: 'kick',
    target_game_id: 7004,
    ...place,
    details,
    occurred_at: now() - 60,
    created_at: now(),
  };
  const noted = { id: note, actor_game_id: 7002, action_type: 'note', occurred_at: now(), created_at: now() };
  const empty = { target_game_id: null, place_id: null, server_id: null, details: null };
  expect(await list('')).toEqual([{ ...noted, ...empty }, kicked]);
  expect(await list('?actor_game_id=7002')).toEqual([{ ...noted, ...empty }]);
  for (const query of ['?target_game_id=7004', '?action_type=kick', '?actor_game_id=7001&action_type=kick'])
    expect(await list(query)).toEqual([kicked]);
  expect(await list('?actor_game_id=7002&action_type=kick')).toEqual([]);
});

test('actions with the latest possible time are paged without gaps', async () => {
  const guildId = newGuild();
  const times = [99_999_999_999, 99_999_999_998, 99_999_999_997];
  for (const time of times) await log(guildId, { occurred_at: time });
  const found: number[] = [];
  for (let query = '?limit=1'; ; ) {
    const { data } = (await fixture.get(`/guilds/${guildId}/staff/actions${query}`, { guildId })).body;
    found.push(...data.actions.map(({ occurred_at: at }: { occurred_at: number }) => at));
    if (data.next_cursor === null) break;
    query = `?limit=1&cursor=${data.next_cursor}`;
  }
  expect(found).toEqual(times);
});
