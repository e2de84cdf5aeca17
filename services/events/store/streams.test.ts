import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scansOf } from '#test/postgres/explain.ts';
import { EventsFixture, recordedFrom } from '../fixture.ts';
import { bytesAfter, removeStreams, removeSurplusStreams } from './streams.ts';

const fixture = new EventsFixture();
/** A guild in the middle of the data. */
const GUILD = '930000000000002500';

beforeAll(async () => {
  await fixture.start();
  await fixture.database.query(
    `INSERT INTO events.streams
     SELECT (930000000000000000 + guild)::text, gen_random_uuid(), clock_timestamp() + stream * interval '1 ms', clock_timestamp()
     FROM generate_series(1, 5000) AS guild, generate_series(1, 20) AS stream`,
  );
  await fixture.append(GUILD, recordedFrom(1, 30, { data: JSON.stringify({ text: 'x'.repeat(1_000) }) }));
  await fixture.database.query(
    `INSERT INTO events.log (guild_id, day, seq, id, type, created_at, source, persons, data, size)
     SELECT (930000000000000000 + guild)::text, day, 1000 + event, gen_random_uuid(), 'ban.created', created_at, source,
       persons, '{}', 2
     FROM (SELECT * FROM events.log WHERE guild_id = $1 AND seq = 1) AS sample,
       generate_series(1, 1000) AS guild, generate_series(1, 20) AS event`,
    [GUILD],
  );
  await fixture.database.query(
    'INSERT INTO events.days SELECT DISTINCT guild_id, day, 1 FROM events.log ON CONFLICT DO NOTHING',
  );
  await fixture.database.query('ANALYZE');
});
afterAll(() => fixture.stop());

test('the surplus streams of a guild are found and removed by the primary key', async () => {
  const scans = await scansOf(fixture.database, (on) => removeSurplusStreams(on, [GUILD], 20));
  expect(new Set(scans)).toEqual(new Set(['streams_pkey']));
  expect(
    await scansOf(fixture.database, (on) => removeStreams(on, [{ guildId: GUILD, id: randomUUID(), openedAt: null }])),
  ).toEqual(['streams_pkey']);
});

test('the bytes after a seq are those of the events after it, read by an index', async () => {
  expect(await bytesAfter(fixture.database, GUILD, 30)).toBe(0);
  const bytes = await bytesAfter(fixture.database, GUILD, 20);
  expect(bytes).toBeGreaterThan(10 * 1_000);
  expect(bytes).toBeLessThan(10 * 2_000);
  const scans = await scansOf(fixture.database, (on) => bytesAfter(on, GUILD, 20));
  const [today] = await fixture.database.query<{ name: string }>(
    `SELECT 'log_' || to_char(day, 'YYYYMMDD') || '_pkey' AS name FROM events.log LIMIT 1`,
  );
  // The partitions of the next days are empty.
  expect(scans.filter((scan) => !scan.startsWith('Seq Scan of log_')).toSorted()).toEqual(['days_pkey', today?.name]);
});
