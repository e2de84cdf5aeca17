import { DatabaseError } from 'pg';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../errors.ts';
import { prepared, type Queryable } from '../pool.ts';
import type { Statement } from '../statements.ts';
import { byGuild, byGuildInOrder, byGuildOrError, guildOf, guildStatement, inDueGuilds } from './by-guild.ts';

const ROWS = ['1', '2', '1', '3'].map((guildId, number) => ({ guildId, number }));
const STATEMENT = guildStatement(1, (andGuild) => `DELETE FROM tasks WHERE number = ANY($1) ${andGuild('tasks')}`);
const numbersOf = (rows: readonly { number: number }[]) => rows.map(({ number }) => number);

/** Records the statements and values that it gets, and returns `result` for each; `isDistributed` is true as with Citus. */
function database(isDistributed: boolean, result: object[] = []): Queryable & { sent: [Statement, unknown][] } {
  const sent: [Statement, unknown][] = [];
  return {
    sent,
    query: async (statement, values) => {
      sent.push([statement, values]);
      return result as never[];
    },
    isDistributed: async () => isDistributed,
  };
}

test('a statement for one guild has the guild as its last parameter, and that for all guilds names none', () => {
  expect(STATEMENT).toEqual({
    all: 'DELETE FROM tasks WHERE number = ANY($1) ',
    one: 'DELETE FROM tasks WHERE number = ANY($1) AND tasks.guild_id = $2::text',
  });
  expect(guildStatement(0, (andGuild) => `SELECT FROM tasks WHERE true ${andGuild('tasks')}`, prepared)).toEqual({
    all: prepared('SELECT FROM tasks WHERE true '),
    one: prepared('SELECT FROM tasks WHERE true AND tasks.guild_id = $1::text'),
  });
});

describe('with Citus', () => {
  test('a batch is a statement for each guild, with its rows in their order', async () => {
    const on = database(true);
    await byGuild(on, ROWS, guildOf, (rows, run) => run(STATEMENT, [numbersOf(rows)]));
    expect(on.sent).toEqual([
      [STATEMENT.one, [[0, 2], '1']],
      [STATEMENT.one, [[1], '2']],
      [STATEMENT.one, [[3], '3']],
    ]);
  });

  test('the results of a batch are in the order of its rows if that is requested', async () => {
    const results = await byGuildInOrder(database(true), ROWS, guildOf, async (rows) => numbersOf(rows));
    expect(results).toEqual([0, 1, 2, 3]);
  });

  describe('a read of several guilds', () => {
    const unavailable = (cause?: Error) => new ApiError('UNAVAILABLE', { cause });
    const readWith = (failures: Record<string, Error>) =>
      byGuildOrError(database(true), ROWS, guildOf, async (rows) => {
        const failure = failures[rows[0]?.guildId ?? ''];
        if (failure) throw failure;
        return numbersOf(rows);
      });

    test('has an error for the guild that cannot be read, and results for the others', async () => {
      const lost = unavailable();
      expect(await readWith({ 1: lost })).toEqual([lost, 1, lost, 3]);
    });

    test('has an error for each guild if their node is unreachable', async () => {
      const message = 'failure on connection marked as essential: 127.0.0.1:5432';
      const cause = Object.assign(new DatabaseError(message, message.length, 'error'), { severity: 'ERROR' });
      const lost = unavailable(cause);
      expect(await readWith({ 1: lost, 2: lost, 3: lost })).toEqual([lost, lost, lost, lost]);
    });

    test.each([
      [
        'it fails for all guilds for another reason',
        { 1: unavailable(), 2: unavailable(), 3: unavailable() },
        'UNAVAILABLE',
      ],
      ['a statement is rejected', { 1: new ApiError('INTERNAL') }, 'INTERNAL'],
    ])('throws if %s', async (_, failures, code) => {
      await expect(readWith(failures)).rejects.toMatchObject({ code });
    });
  });

  test('in a transaction no statement follows one that has failed', async () => {
    const on = { ...database(true), afterCommit: () => undefined };
    const guilds: (string | undefined)[] = [];
    const failing = byGuild(on, ROWS, guildOf, async ([row]) => {
      guilds.push(row?.guildId);
      throw new ApiError('UNAVAILABLE');
    });
    await expect(failing).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await new Promise(setImmediate);
    expect(guilds).toEqual(['1']);
  });

  test('due rows are changed guild by guild, each guild once, until there are enough', async () => {
    const due = { table: 'fleet.tasks', condition: 'run_at < $1', order: 'run_at', values: [5], limit: 7 };
    const on = database(true, ROWS);
    const found = await inDueGuilds(on, due, (run) => run(STATEMENT, [5]));
    expect(on.sent).toEqual([
      ['SELECT guild_id AS "guildId" FROM fleet.tasks WHERE run_at < $1 ORDER BY run_at LIMIT 7', [5]],
      [STATEMENT.one, [5, '1']],
      [STATEMENT.one, [5, '2']],
    ]);
    expect(found).toEqual([...ROWS, ...ROWS]);
  });
});

test('without Citus one statement has the rows of all guilds, and no search precedes it', async () => {
  const plain = database(false);
  const due = { table: 'fleet.tasks', condition: 'true', order: 'run_at', values: [], limit: 3 };
  await byGuild(plain, ROWS, guildOf, (rows, run) => run(STATEMENT, [numbersOf(rows)]));
  await inDueGuilds(plain, due, (run) => run(STATEMENT, [5]));
  expect(plain.sent).toEqual([
    [STATEMENT.all, [[0, 1, 2, 3]]],
    [STATEMENT.all, [5]],
  ]);
});

test('without Citus a read that fails throws, and no row gets an error', async () => {
  const read = byGuildOrError(database(false), ROWS, guildOf, () => Promise.reject(new Error('PostgreSQL is down')));
  await expect(read).rejects.toThrow('PostgreSQL is down');
});

test('a batch without rows runs no statement', async () => {
  const on = database(true);
  expect(await byGuild(on, [], guildOf, (_, run) => run(STATEMENT, []))).toEqual([]);
  expect(on.sent).toEqual([]);
});
