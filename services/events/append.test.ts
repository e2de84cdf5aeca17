import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventsFixture, newGuild, recorded, recordedFrom } from './fixture.ts';

const fixture = new EventsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const seqs = async (guildId: string) => (await fixture.read(guildId)).map(({ seq }) => seq);

describe('events', () => {
  test('are stored in the order given, with seqs from 1, and read as they were recorded', async () => {
    const guildId = newGuild();
    const createdAtMs = Date.UTC(2026, 10, 20, 12);
    const source = { kind: 'api_key', id: 'service_900000000000000001_k7Qm2xYp' };
    const events = recordedFrom(1, 3, { createdAtMs, source });
    expect(await fixture.append(guildId, events)).toBe(3);
    const { status, body } = await fixture.list(guildId);
    expect(status).toBe(200);
    expect(body.data).toEqual({
      events: events.map(({ id, type, data }, index) => ({
        id,
        guild_id: guildId,
        seq: index + 1,
        type,
        created_at: createdAtMs / 1000,
        source,
        data: JSON.parse(data),
      })),
      next_after: 3,
      oldest_seq: 1,
    });
  });

  test('that were stored before are skipped, alone and at the start of a call', async () => {
    const guildId = newGuild();
    const events = recordedFrom(1, 5);
    expect(await fixture.append(guildId, events.slice(0, 3))).toBe(3);
    expect(await fixture.append(guildId, events.slice(0, 3))).toBe(0);
    expect(await fixture.append(guildId, events.slice(1))).toBe(2);
    expect((await fixture.read(guildId)).map(({ id, seq }) => ({ id, seq }))).toEqual(
      events.map(({ id }, index) => ({ id, seq: index + 1 })),
    );
  });

  test('of several services and guilds have numbers of their own', async () => {
    const [one, other] = [newGuild(), newGuild()];
    expect(await fixture.append(one, recordedFrom(1, 2), 'moderation')).toBe(2);
    expect(await fixture.append(one, recordedFrom(1, 2), 'lookup')).toBe(2);
    expect(await fixture.append(other, recordedFrom(1, 1), 'moderation')).toBe(1);
    expect(await seqs(one)).toEqual([1, 2, 3, 4]);
    expect(await seqs(other)).toEqual([1]);
  });

  test('whose numbers have gaps are stored without gaps in seq', async () => {
    const guildId = newGuild();
    expect(await fixture.append(guildId, [recorded(3), recorded(9)])).toBe(2);
    expect(await seqs(guildId)).toEqual([1, 2]);
  });

  test('that are sent twice at the same time are stored once', async () => {
    const guildId = newGuild();
    const events = recordedFrom(1, 20);
    const stored = await Promise.all(Array.from({ length: 8 }, () => fixture.append(guildId, events)));
    expect(stored.reduce((sum, count) => sum + count)).toBe(20);
    expect((await fixture.read(guildId)).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  test('of a type that only a newer service knows are stored, and are not in the list', async () => {
    const guildId = newGuild();
    const id = randomUUID();
    expect(await fixture.append(guildId, [recorded(1, { type: 'galaxy.exploded', id }), recorded(2)])).toBe(2);
    expect(await seqs(guildId)).toEqual([2]);
    const rows = await fixture.database.query('SELECT id FROM events.log WHERE guild_id = $1 AND seq = 1', [guildId]);
    expect(rows).toEqual([{ id }]);
  });
});

test.each([
  ['no events', [], 'request.events'],
  ['more than 100 events', recordedFrom(1, 101), 'request.events'],
  ['numbers that do not ascend', [recorded(2), recorded(2)], 'request.events must have ascending numbers'],
  ['an ID that is no UUID', [recorded(1, { id: 'x' })], 'request.events[0].id must be a UUID'],
  ['data that is no object', [recorded(1, { data: '[]' })], 'request.events[0].data must be a JSON object'],
  ['data that is no JSON', [recorded(1, { data: '{' })], 'request.events[0].data must be a JSON object'],
  ['an unknown source', [recorded(1, { source: { kind: 'moon', id: '1' } })], 'request.events[0].source.kind'],
  ['a malformed person', [recorded(1, { persons: ['ada'] })], 'request.events[0].persons[0] must be a person'],
])('a call with %s is rejected', async (_title, events, message) => {
  await expect(fixture.append(newGuild(), events)).rejects.toThrow(message);
});

test('stored and repeated events are counted', async () => {
  const guildId = newGuild();
  const count = async (outcome: string) =>
    (await fixture.metric('events_appended_total', `{outcome="${outcome}"}`)) ?? 0;
  const before = [await count('stored'), await count('duplicate')] as const;
  await fixture.append(guildId, recordedFrom(1, 2));
  await fixture.append(guildId, recordedFrom(1, 3));
  expect([await count('stored'), await count('duplicate')]).toEqual([before[0] + 3, before[1] + 2]);
});
