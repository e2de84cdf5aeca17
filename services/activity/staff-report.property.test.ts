// Compares reports with a straightforward computation over random sessions and actions, and the totals that a migration
// computes with those that are added one by one.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { ActivityFixture, newGuild } from './fixture.ts';
import { addAction, addSessions, countedPart, type FinishedSession } from './store/staff-totals.ts';

const REPORTS = amount(20, 200);
const QUARTER = 900;
const DAY = 86_400;
const BASE = Date.UTC(2026, 2, 20) / 1000;
const DAYS = 20;
const ZONES = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia'];
const TYPES = ['kick', 'note', 'ban'];

const guildId = newGuild();
const fixture = new ActivityFixture();
const random = seededRandom(42);
const whole = (max: number) => wholeNumber(random, max);
const at = (seconds: number) => new Date(seconds * 1000);

const sessions = Array.from({ length: 300 }, (): FinishedSession => {
  const started = BASE + whole(DAYS * DAY);
  const length = whole([1, 60, 7_200, 3 * DAY, 9 * DAY][whole(5)] ?? 1);
  const [startedAt, endedAt] = [started, started + length].map((time) => new Date(time * 1000 + whole(1_000)));
  const times = { startedAt: startedAt as Date, endedAt: endedAt as Date };
  return { guildId, gameId: 1 + whole(5), ...times, idleSeconds: whole(length * 2 + 1) };
});
const actions = Array.from({ length: 300 }, () => ({
  guildId,
  gameId: 1 + whole(5),
  type: TYPES[whole(3)] ?? '',
  at: at(BASE + whole(DAYS * DAY)),
}));

beforeAll(async () => {
  await fixture.start();
  await fixture.database.transaction(async (transaction) => {
    for (let from = 0; from < sessions.length; from += 60)
      await addSessions(transaction, sessions.slice(from, from + 60));
    for (const action of actions) await addAction(transaction, action);
  });
}, 120_000);
afterAll(() => fixture.stop());

interface Totals {
  sessions: number;
  seconds: number;
  idle: number;
  actions: Record<string, number>;
}
type Report = Map<string, Totals>;

/** The local date of a time, or that of the Monday of its week. */
function labelOf(format: Intl.DateTimeFormat, seconds: number, interval: string): string {
  const date = new Date(`${format.format(at(seconds))}T00:00Z`);
  if (interval === 'week') date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}

/** Computes a report by walking over every quarter of an hour of every session. */
function computed(from: number, to: number, interval: string, tz: string): Report {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: tz });
  const [first, last] = [from, to].map((time) => labelOf(format, time, interval)) as [string, string];
  const report: Report = new Map();
  const add = (gameId: number, time: number, change: (totals: Totals) => void) => {
    const label = labelOf(format, time, interval);
    if (label < first || label > last) return;
    const key = `${gameId} ${label}`;
    const totals = report.get(key) ?? { sessions: 0, seconds: 0, idle: 0, actions: {} };
    change(totals);
    report.set(key, totals);
  };
  for (const session of sessions) {
    const { started, ended, idle } = countedPart(session);
    const idleUntil = (time: number) => Math.floor((idle * (time - started)) / Math.max(1, ended - started));
    add(session.gameId, started, (totals) => totals.sessions++);
    for (let time = started; time < ended; ) {
      const next = Math.min(ended, time - (time % QUARTER) + QUARTER);
      add(session.gameId, time, (totals) => {
        totals.seconds += next - time;
        totals.idle += idleUntil(next) - idleUntil(time);
      });
      time = next;
    }
  }
  for (const { gameId, type, at: time } of actions) {
    add(gameId, time.getTime() / 1000, ({ actions: counted }) => {
      counted[type] = (counted[type] ?? 0) + 1;
    });
  }
  return report;
}

async function read(from: number, to: number, interval: string, tz: string): Promise<Report> {
  const path = `/guilds/${guildId}/staff/report?from=${from}&to=${to}&interval=${interval}&tz=${tz}`;
  const { data } = (await fixture.get(path, { guildId })).body;
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: tz });
  const report: Report = new Map();
  for (const { game_id: gameId, intervals } of data.staff) {
    for (const { start, sessions: started, seconds, idle_seconds: idle, actions: counted } of intervals) {
      report.set(`${gameId} ${labelOf(format, start, interval)}`, {
        sessions: started,
        seconds,
        idle,
        actions: counted,
      });
    }
  }
  return report;
}

const sorted = (report: Report) => [...report].toSorted(([a], [b]) => (a < b ? -1 : 1));

test(`${REPORTS} reports over random sessions and actions equal a straightforward computation`, async () => {
  for (let n = 0; n < REPORTS; n++) {
    const from = BASE - DAY + whole(DAYS * DAY);
    const parameters = [
      from,
      from + whole(20 * DAY),
      whole(3) ? 'day' : 'week',
      ZONES[n % ZONES.length] ?? '',
    ] as const;
    const report = await read(...parameters);
    expect(sorted(report), `${parameters.join()}`).toEqual(sorted(computed(...parameters)));
    expect(report.size).toBeGreaterThan(0);
  }
}, 300_000);

test('the migration computes the same totals from stored sessions and actions', async () => {
  const { database } = fixture;
  const totals = async () => [
    await database.query('SELECT * FROM activity.staff_totals ORDER BY guild_id, game_id, width, slot'),
    await database.query('SELECT * FROM activity.action_totals ORDER BY guild_id, game_id, width, slot, action_type'),
  ];
  const before = await totals();
  await database.query(
    `INSERT INTO activity.sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at, ended_at,
       idle_seconds)
     SELECT $1, gen_random_uuid(), "gameId", 1, 's', "startedAt", "startedAt", "endedAt", "idleSeconds"
     FROM json_to_recordset($2) AS given ("gameId" bigint, "startedAt" timestamptz, "endedAt" timestamptz,
       "idleSeconds" bigint)`,
    [guildId, JSON.stringify(sessions)],
  );
  await database.query(
    `INSERT INTO activity.actions (guild_id, action_id, actor_game_id, action_type, occurred_at, created_at)
     SELECT $1, gen_random_uuid(), "gameId", type, CASE WHEN "gameId" = 1 THEN 'infinity' ELSE at END, at
     FROM json_to_recordset($2) AS given ("gameId" bigint, type text, at timestamptz)`,
    [guildId, JSON.stringify(actions)],
  );
  const migration = await readFile(join(import.meta.dirname, 'migrations/0009_staff_totals.sql'), 'utf8');
  const filling = migration.slice(migration.indexOf('INSERT INTO activity.staff_totals'));
  await database.query('DELETE FROM activity.staff_totals');
  await database.query('DELETE FROM activity.action_totals');
  await database.transaction(async (transaction) => {
    // The statements of the migration, each of which ends with a semicolon at the end of a line.
    for (const statement of filling.split(/;$/m)) if (statement.includes('INSERT')) await transaction.query(statement);
  });
  expect(await totals()).toEqual(before);
}, 120_000);
