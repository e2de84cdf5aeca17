import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '#kit/postgres/pool.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { EVENT_TYPE_NAMES } from '#proto/rest/events/index.ts';
import { EventLog } from './domain/log.ts';
import { EventsFixture, newGuild, recorded } from './fixture.ts';
import { EventsTelemetry } from './telemetry/log.ts';

const WRITERS = 16;
const CALLS = 25;
const MAX_DELAY_MS = 8;

const eventOf = (guildId: string, number: number) => ({
  ...recorded(number),
  guildId,
  source: { kind: 'system', id: 'test' } as const,
});

const fixture = new EventsFixture();
let database: Database;
let log: EventLog;

beforeAll(async () => {
  await fixture.start();
  const [metrics, logger] = [new Metrics(), await createLog({ service: 'test', level: 'silent' })];
  database = openDatabase({ url: fixture.testDatabase.url, poolMax: WRITERS + 2, name: 'test', metrics, log: logger });
  const delayCommit = async () => {
    await wait(randomInt(MAX_DELAY_MS));
  };
  const telemetry = new EventsTelemetry(metrics, logger);
  log = new EventLog({ database, telemetry, appended: () => undefined, hooks: [delayCommit] });
});
afterAll(async () => {
  await database.close();
  await fixture.stop();
});

test('a reader sees every seq once and in order while 16 writers of one guild commit after random delays', async () => {
  const guildId = newGuild();
  let total = 0;
  const writers = { areWriting: true };
  const write = async (writer: number) => {
    for (let call = 0, number = 1; call < CALLS; call++) {
      const events = Array.from({ length: randomInt(1, 4) }, () => eventOf(guildId, number++));
      total += events.length;
      expect(await log.append(`writer ${writer}`, events)).toBe(events.length);
      const again = randomInt(3) === 0 ? await log.append(`writer ${writer}`, events) : 0;
      expect(again).toBe(0);
    }
  };
  const seen: number[] = [];
  const read = async () => {
    for (let after = 0, isLast = false; !isLast; ) {
      // The last read begins after all writers have ended.
      isLast = !writers.areWriting;
      const request = { guildId, after, types: EVENT_TYPE_NAMES, limit: 7, maxBytes: 1_000_000 };
      const { events, examinedSeq, newestSeq } = await log.read(request);
      seen.push(...events.map(({ seq }) => seq));
      after = examinedSeq;
      isLast &&= examinedSeq === newestSeq;
    }
  };
  const count = async () => {
    while (writers.areWriting) {
      const rows = await database.query('SELECT count(*), max(seq) AS max FROM events.log WHERE guild_id = $1', [
        guildId,
      ]);
      expect(rows[0]?.['count']).toBe(rows[0]?.['max'] ?? 0);
    }
  };
  const writing = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer))).finally(() => {
    writers.areWriting = false;
  });
  await Promise.all([writing, read(), count()]);
  expect(total).toBeGreaterThan(WRITERS * CALLS);
  expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
}, 60_000);

test('calls with events of the same guilds in opposite orders do not deadlock', async () => {
  const guilds = Array.from({ length: 5 }, newGuild);
  const append = async (service: string, order: readonly string[]) => {
    for (let number = 1; number <= 20; number++) {
      await log.append(
        service,
        order.map((guildId) => eventOf(guildId, number)),
      );
    }
  };
  await Promise.all([append('one', guilds), append('two', guilds.toReversed()), append('three', guilds)]);
  for (const guildId of guilds) expect(await fixture.read(guildId)).toHaveLength(60);
});
