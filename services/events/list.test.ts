import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EventBody, EventsFixture, newGuild, recorded, recordedFrom } from './fixture.ts';

const fixture = new EventsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const as = (...scopes: string[]) => ({ principal: { scopes: ['events:read', ...scopes], legacy: false } });
const seqsOf = (events: EventBody[]) => events.map(({ seq }) => seq);

/** Stores one event of each type, in this order. */
async function guildWith(...types: string[]): Promise<string> {
  const guildId = newGuild();
  await fixture.append(
    guildId,
    types.map((type, index) => recorded(index + 1, { type })),
  );
  return guildId;
}

test('a guild without events has an empty list, and an oldest seq of 1', async () => {
  const { status, body } = await fixture.list(newGuild());
  expect(status).toBe(200);
  expect(body.data).toEqual({ events: [], next_after: 0, oldest_seq: 1 });
});

test('pages follow each other by next_after, to the end', async () => {
  const guildId = newGuild();
  await fixture.append(guildId, recordedFrom(1, 25));
  const pages: number[][] = [];
  for (let after = 0, size = 1; size > 0; ) {
    const { data } = (await fixture.list(guildId, `?after=${after}&limit=10`)).body;
    pages.push(seqsOf(data.events));
    size = data.events.length;
    after = data.next_after;
  }
  expect(pages.map(({ length }) => length)).toEqual([10, 10, 5, 0]);
  expect(pages.flat()).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
});

describe('types', () => {
  test('select events by name and by group, and next_after is the last seq that was examined', async () => {
    const guildId = await guildWith('ban.created', 'link.created', 'ban.lifted', 'session.started');
    const listed = async (query: string) => (await fixture.list(guildId, query)).body.data;
    expect(seqsOf((await listed('?types=ban.*')).events)).toEqual([1, 3]);
    expect(seqsOf((await listed('?types=ban.lifted,link.*')).events)).toEqual([2, 3]);
    expect((await listed('?types=ban.*')).next_after).toBe(4);
    expect(await listed('?types=webhook.*')).toMatchObject({ events: [], next_after: 4 });
    expect((await listed('?types=ban.*&limit=1')).next_after).toBe(1);
  });

  test('that the key may not read are left out', async () => {
    const guildId = await guildWith('ban.created', 'link.created', 'binding.created', 'key.created');
    const listed = async (...scopes: string[]) => {
      const { data } = (await fixture.list(guildId, '', as(...scopes))).body;
      expect(data.next_after).toBe(4);
      return seqsOf(data.events);
    };
    expect(await listed()).toEqual([3]);
    expect(await listed('moderation:write')).toEqual([1, 3]);
    expect(await listed('members:read')).toEqual([2, 3]);
    expect(await listed('webhooks:read')).toEqual([3, 4]);
  });

  test('of which a long log has few are found with several reads', async () => {
    const guildId = newGuild();
    for (let first = 1; first <= 2_401; first += 100) await fixture.append(guildId, recordedFrom(first, 100));
    await fixture.append(guildId, [recorded(2_501, { type: 'link.created' })]);
    const { data } = (await fixture.list(guildId, '?types=link.*')).body;
    expect(seqsOf(data.events)).toEqual([2_501]);
    expect(data.next_after).toBe(2_501);
  });
});

test('the ID of a person in the console is only shown to keys with moderation:read', async () => {
  const guildId = newGuild();
  const source = { kind: 'console', id: '920000000000000001' };
  const type = 'link.created';
  await fixture.append(guildId, [recorded(1, { source, type }), recorded(2, { type })]);
  const sources = async (...scopes: string[]) => {
    const events = (await fixture.list(guildId, '', as('members:read', ...scopes))).body.data.events as EventBody[];
    return events.map((event) => event.source);
  };
  expect(await sources()).toEqual([
    { kind: 'console', id: null },
    { kind: 'system', id: 'moderation' },
  ]);
  expect(await sources('moderation:read')).toEqual([source, { kind: 'system', id: 'moderation' }]);
});

test('a page of large events is cut at about 1 MiB, and continues at next_after', async () => {
  const guildId = newGuild();
  const data = JSON.stringify({ text: 'x'.repeat(18_900) });
  for (let first = 1; first <= 100; first += 25) await fixture.append(guildId, recordedFrom(first, 25, { data }));
  const first = (await fixture.list(guildId)).body;
  expect(JSON.stringify(first).length).toBeLessThan(1.05 * 1024 * 1024);
  expect(first.data.events.length).toBeGreaterThan(50);
  expect(first.data.next_after).toBe(first.data.events.length);
  const { data: rest } = (await fixture.list(guildId, `?after=${first.data.next_after}`)).body;
  expect(rest.next_after).toBe(100);
  expect(first.data.events.length + rest.events.length).toBe(100);
});

describe('410 EVENTS_GONE', () => {
  const gone = { code: 410, details: { code: 'EVENTS_GONE' } };

  test('is the response above the newest seq', async () => {
    const guildId = await guildWith('ban.created');
    expect((await fixture.list(guildId, '?after=1')).status).toBe(200);
    const { body } = await fixture.list(guildId, '?after=2');
    expect(body).toMatchObject(gone);
    expect(body.details).toEqual({ code: 'EVENTS_GONE', oldest_seq: 1, newest_seq: 1 });
  });

  test('is the response below the oldest retained seq; without after, reading starts there', async () => {
    const guildId = newGuild();
    await fixture.append(guildId, recordedFrom(1, 5));
    // The first three events belong to an expired day.
    await fixture.database.query('UPDATE events.days SET first_seq = 4 WHERE guild_id = $1', [guildId]);
    await fixture.database.query('DELETE FROM events.log WHERE guild_id = $1 AND seq < 4', [guildId]);
    const { body } = await fixture.list(guildId, '?after=2');
    expect(body).toMatchObject(gone);
    expect(body.details).toEqual({ code: 'EVENTS_GONE', oldest_seq: 4, newest_seq: 5 });
    expect((await fixture.list(guildId, '?after=3')).body.data).toMatchObject({ next_after: 5, oldest_seq: 4 });
    expect(seqsOf(await fixture.read(guildId))).toEqual([4, 5]);
  });
});

test.each([
  ['?after=-1', 'query.after'],
  ['?after=x', 'query.after'],
  ['?limit=0', 'query.limit'],
  ['?limit=101', 'query.limit'],
  ['?wait=26', 'query.wait'],
  ['?types=', 'query.types'],
  ['?types=ban.', 'query.types'],
  ['?types=moon.*', 'query.types'],
])('%s is a 400 that names the parameter', async (query, path) => {
  const { status, body } = await fixture.list(newGuild(), query);
  expect(status).toBe(400);
  expect(body.details.errors).toEqual([{ path, message: expect.any(String) }]);
});
