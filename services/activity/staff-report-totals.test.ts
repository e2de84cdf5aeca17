// Compares the report of staff activity with a plain computation from the stored sessions and actions, after random
// inserts, changes and deletions.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const QUARTER = 900;
const DAY = 86_400;
/** Offsets of whole, half and quarter hours, changes of the clock by an hour and by half an hour, also at midnight. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Africa/Cairo',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
];
const TYPES = ['kick', 'ban', 'warn', '__proto__', 'constructor', 'Ünïcode ✓'];

interface Counts {
  sessions: number;
  seconds: number;
  idle_seconds: number;
  action_count: number;
  actions: Record<string, number>;
}
type Report = Record<string, Record<string, Counts>>;

/** Changes sessions and actions of a guild at random, in a range of days around the time `at`. */
async function changeAtRandom(random: () => number, guildId: string, at: number): Promise<void> {
  const { database } = fixture;
  const time = () => new Date((at + (random() - 0.5) * 60 * DAY) * 1000);
  for (let n = 0; n < 60; n++) {
    const start = time();
    const end = new Date(start.getTime() + random() ** 3 * 3 * DAY * 1000);
    const isOpen = random() < 0.2;
    await database.query(
      `INSERT INTO activity.sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at,
         idle_seconds, ended_at)
       VALUES ($1, gen_random_uuid(), $2, 1, gen_random_uuid()::text, $3, $4, $5, $6)`,
      [guildId, 7000 + wholeNumber(random, 5), start, end, wholeNumber(random, 20_000), isOpen ? null : end],
    );
  }
  for (let n = 0; n < 100; n++) {
    await database.query(
      `INSERT INTO activity.actions (guild_id, action_id, actor_game_id, action_type, occurred_at, created_at)
       VALUES ($1, gen_random_uuid(), $2, $3, $4, now())`,
      [guildId, 7000 + wholeNumber(random, 5), TYPES[wholeNumber(random, TYPES.length)], time()],
    );
  }
  const some = (id: string) => `guild_id = $1 AND hashtext(${id}::text) % 5 = $2`;
  const part = wholeNumber(random, 5);
  await database.query(
    `UPDATE activity.sessions SET ended_at = coalesce(ended_at, beat_at), idle_seconds = idle_seconds + 100
     WHERE ${some('session_id')}`,
    [guildId, part],
  );
  await database.query(`DELETE FROM activity.sessions WHERE ${some('session_id')}`, [guildId, (part + 1) % 5]);
  await database.query(`DELETE FROM activity.actions WHERE ${some('action_id')}`, [guildId, part]);
}

/** Computes a report from the stored sessions and actions, quarter of an hour by quarter of an hour. */
async function computed(guildId: string, { from, to, interval, tz }: Record<string, string>): Promise<Report> {
  const first = Math.floor(Number(from) / QUARTER) * QUARTER;
  const end = Math.ceil(Number(to) / QUARTER) * QUARTER;
  const report: Report = {};
  const local = new Intl.DateTimeFormat('en-CA', { timeZone: tz });
  const at = (gameId: number, seconds: number): Counts | undefined => {
    if (seconds < first || seconds >= end) return undefined;
    const date = new Date(`${local.format(seconds * 1000)}T00:00:00Z`);
    if (interval === 'week') date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
    const member = (report[gameId] ??= {});
    const none = { sessions: 0, seconds: 0, idle_seconds: 0, action_count: 0, actions: JSON.parse('{}') };
    return (member[date.toISOString().slice(0, 10)] ??= none);
  };
  type SessionRow = { game_id: number; started_at: Date; over: Date; idle_seconds: number };
  const sessions = await fixture.database.query<SessionRow>(
    `SELECT game_id, started_at, coalesce(ended_at, beat_at) AS over, idle_seconds FROM activity.sessions
     WHERE guild_id = $1`,
    [guildId],
  );
  for (const session of sessions) {
    const [start, over] = [session.started_at, session.over].map((time) => Math.floor(time.getTime() / 1000)) as [
      number,
      number,
    ];
    const idleBefore = (seconds: number) =>
      over === start
        ? 0
        : Math.floor((Math.min(session.idle_seconds, over - start) * (seconds - start)) / (over - start));
    const started = at(session.game_id, start);
    if (started) started.sessions++;
    for (let since = start; since < over; ) {
      const until = Math.min((Math.floor(since / QUARTER) + 1) * QUARTER, over);
      const counts = at(session.game_id, since);
      if (counts) {
        counts.seconds += until - since;
        counts.idle_seconds += idleBefore(until) - idleBefore(since);
      }
      since = until;
    }
  }
  type ActionRow = { game_id: number; type: string; occurred_at: Date };
  const actions = await fixture.database.query<ActionRow>(
    'SELECT actor_game_id AS game_id, action_type AS type, occurred_at FROM activity.actions WHERE guild_id = $1',
    [guildId],
  );
  for (const action of actions) {
    const counts = at(action.game_id, Math.floor(action.occurred_at.getTime() / 1000));
    if (!counts) continue;
    counts.action_count++;
    const before = Object.getOwnPropertyDescriptor(counts.actions, action.type)?.value ?? 0;
    const value = before + 1;
    Object.defineProperty(counts.actions, action.type, { value, enumerable: true, writable: true, configurable: true });
  }
  return report;
}

/** Reads all pages of a report. */
async function reported(guildId: string, parameters: Record<string, string>, limit: number): Promise<Report> {
  const report: Report = {};
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ ...parameters, limit: String(limit), ...(cursor && { cursor }) });
    const { status, body } = await fixture.get(`/guilds/${guildId}/staff/report?${query.toString()}`, { guildId });
    expect([status, body.message]).toEqual([200, 'Staff report read']);
    for (const { game_id: gameId, intervals } of body.data.staff) {
      expect(report[gameId]).toBeUndefined();
      report[gameId] = Object.fromEntries(
        intervals.map(({ date, ...counts }: { date: string } & Counts) => [date, counts]),
      );
    }
    cursor = body.data.next_cursor;
  }
  return report;
}

test.each(Array.from({ length: amount(3, 30) }, (_, index) => index + 1))(
  'reports are the sums of the stored sessions and actions, with random data number %i',
  async (seed) => {
    const random = seededRandom(seed);
    const guildId = newGuild();
    // Near the changes of the clock in spring and autumn, on both hemispheres.
    const at = (seed % 2 === 0 ? Date.UTC(2026, 2, 25) : Date.UTC(2026, 9, 30)) / 1000;
    for (let round = 0; round < 2; round++) await changeAtRandom(random, guildId, at);
    for (const tz of ZONES) {
      for (const interval of ['day', 'week']) {
        const from = at - wholeNumber(random, 40 * DAY);
        const to = from + 1 + wholeNumber(random, 92 * DAY);
        const parameters = { from: String(from), to: String(to), interval, tz };
        const found = await reported(guildId, parameters, 1 + wholeNumber(random, 6));
        expect({ parameters, found }).toEqual({ parameters, found: await computed(guildId, parameters) });
      }
    }
    // What is deleted leaves no totals.
    await fixture.database.query('DELETE FROM activity.sessions WHERE guild_id = $1', [guildId]);
    await fixture.database.query('DELETE FROM activity.actions WHERE guild_id = $1', [guildId]);
    expect(await fixture.database.query('SELECT * FROM activity.staff_days WHERE guild_id = $1', [guildId])).toEqual(
      [],
    );
  },
  120_000,
);
