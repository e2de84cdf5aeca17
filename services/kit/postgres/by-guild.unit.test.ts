import { describe, expect, test } from 'vitest';
import { byGuild, byGuildInOrder, guildOf, inDueGuilds } from './by-guild.ts';
import type { Queryable } from './pool.ts';

const ROWS = ['1', '2', '1', '3'].map((guildId, number) => ({ guildId, number }));

/** A database with or without Citus; a search finds the guilds of ROWS. */
const database = (isDistributed: boolean): Queryable => ({
  query: async () => ROWS as never[],
  isDistributed: async () => isDistributed,
});

describe('with Citus', () => {
  test('a batch is a statement for each guild, with its rows in their order', async () => {
    const runs: [string | null, number[]][] = [];
    await byGuild(database(true), ROWS, guildOf, async (rows, guildId) => {
      runs.push([guildId, rows.map(({ number }) => number)]);
      return [];
    });
    expect(runs).toEqual([
      ['1', [0, 2]],
      ['2', [1]],
      ['3', [3]],
    ]);
  });

  test('the results of a batch are in the order of its rows if that is requested', async () => {
    const results = await byGuildInOrder(database(true), ROWS, guildOf, async (rows, guildId) =>
      rows.map(({ number }) => `${guildId} ${number}`),
    );
    expect(results).toEqual(['1 0', '2 1', '1 2', '3 3']);
  });

  test('due rows are locked guild by guild, each guild once, until there are enough', async () => {
    const due = { table: 'fleet.tasks', condition: 'true', order: 'run_at', values: [], limit: 3 };
    const guilds: (string | null)[] = [];
    const found = await inDueGuilds(database(true), due, async (guildId) => {
      guilds.push(guildId);
      return [guildId, guildId];
    });
    expect(guilds).toEqual(['1', '2']);
    expect(found).toEqual(['1', '1', '2', '2']);
  });
});

test('without Citus one statement has the rows of all guilds, and no search precedes it', async () => {
  for (const on of [database(false), { query: () => Promise.reject(new Error('a search')) }]) {
    const run = async (rows: typeof ROWS, guildId: string | null) => [[guildId, rows.length]];
    expect(await byGuild(on, ROWS, guildOf, (rows, guildId) => run([...rows], guildId))).toEqual([[null, 4]]);
    const due = { table: 'fleet.tasks', condition: 'true', order: 'run_at', values: [], limit: 3 };
    expect(await inDueGuilds(on, due, async (guildId) => [guildId])).toEqual([null]);
  }
});

test('a batch without rows runs no statement', async () => {
  const run = () => Promise.reject(new Error('a statement'));
  expect(await byGuild(database(true), [], guildOf, run)).toEqual([]);
});
