import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventRecorder } from '#kit/events/recorder.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { Admissions } from './domain/admissions.ts';
import { ActivityEvents } from './events.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const SERVERS = amount(5_000, 50_000);
const COMMAND_SERVERS = amount(200, 2_000);

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** Inserts live servers, of which the guilds have `perGuild` each, and whose guilds are due for a sweep. */
async function insertServers(perGuild: number, liveSeconds: number): Promise<void> {
  await databaseRows(fixture.testDatabase.url, 'TRUNCATE activity.servers, activity.guilds, activity.events');
  const now = new Date(fixture.clock.now());
  for (let from = 0; from < SERVERS; from += 10_000) {
    await fixture.database.query(
      `INSERT INTO activity.servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at,
         interval_seconds, live_until, is_counted, cursor, admitted_place)
       SELECT (800000000000000000 + n / $1)::text, 's' || n, 1, 1, 1, $2, 15,
         $2::timestamptz + $3::int * interval '1 second', true, 0, 0
       FROM generate_series($4::int, $5::int) n`,
      [perGuild, now, liveSeconds, from, Math.min(from + 10_000, SERVERS) - 1],
    );
  }
  await fixture.database.query(
    `INSERT INTO activity.guilds (guild_id, live_servers, next_lapse_at)
     SELECT guild_id, count(*), $1 FROM activity.servers GROUP BY guild_id`,
    [now],
  );
  await databaseRows(fixture.testDatabase.url, 'VACUUM ANALYZE activity.servers');
  await databaseRows(fixture.testDatabase.url, 'VACUUM ANALYZE activity.guilds');
}

const sweepAll = async () => {
  const events = new ActivityEvents(new EventRecorder({ schema: 'activity', wake: () => undefined }));
  const { clock, database } = fixture;
  const telemetry = { quotaExceeded: () => undefined };
  const sweep = new Admissions({ database, clock, events, telemetry, maxLiveServers: 2_000 }).lapsedServersSweep();
  const started = performance.now();
  let batches = 1;
  while (await sweep.sweep()) batches++;
  return { milliseconds: performance.now() - started, batches };
};

test(`sweeping ${SERVERS} live servers, of which none has lapsed, takes a fraction of the 45 s until the next time`, async () => {
  await fixture.activity.stop();
  for (const [perGuild, bound] of [
    [1, 10_000],
    [100, 2_000],
    [2_000, 2_000],
  ] as const) {
    await insertServers(perGuild, 60);
    const { milliseconds, batches } = await sweepAll();
    withinBound(`sweep of ${SERVERS} live servers, ${perGuild} in a guild, in ${batches} batches`, milliseconds, bound);
    const [counted] = await fixture.database.query<{ lapsed: number }>(
      'SELECT count(*) FILTER (WHERE NOT is_counted)::int AS lapsed FROM activity.servers',
    );
    expect(counted).toEqual({ lapsed: 0 });
    // Nothing is due: one read of an index.
    const idle = await sweepAll();
    printFigure('sweep while nothing is due, in ms', idle.milliseconds);
    expect(idle.batches).toBe(1);
  }
}, 300_000);

test(`${SERVERS} servers that lapse at the same time are reported within seconds`, async () => {
  await insertServers(100, 0);
  const { milliseconds, batches } = await sweepAll();
  withinBound(`${SERVERS} servers that have lapsed, in ${batches} batches`, milliseconds, 30_000);
  const [recorded] = await fixture.database.query<{ events: number }>(
    'SELECT count(*)::int AS events FROM activity.events',
  );
  expect(recorded).toEqual({ events: SERVERS });
  fixture.activity = await fixture.startActivity();
}, 300_000);

test(`acknowledging a command by ${COMMAND_SERVERS} servers writes its row once for each batch, and counts its outcome once`, async () => {
  const guildId = newGuild();
  const names = Array.from({ length: COMMAND_SERVERS }, (_, n) => `s${n}`);
  await Promise.all(names.map((server) => fixture.beat(server, {}, { guildId })));
  const { commandIds } = await fixture.enqueue({ guildId });
  await Promise.all(names.map((server) => fixture.beat(server, {}, { guildId })));
  const acks = [{ command_id: commandIds[0], status: 'success' }];
  const started = performance.now();
  await Promise.all(names.map((server) => fixture.beat(server, { acks }, { guildId })));
  withinBound(`heartbeats with acknowledgements of ${COMMAND_SERVERS} servers`, performance.now() - started, 10_000);
  const [event] = await fixture.eventsOf(guildId, ['command.finished'], 1);
  expect(event?.data.outcome).toMatchObject({ servers: COMMAND_SERVERS, succeeded: COMMAND_SERVERS });
}, 120_000);
