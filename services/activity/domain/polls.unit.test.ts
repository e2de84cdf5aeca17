import { expect, test } from 'vitest';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Leases } from './leases.ts';
import { Polls } from './polls.ts';

test('a command that another transaction holds past its lease is not asked for without a pause', async () => {
  let rounds = 0;
  const take = async () => {
    rounds++;
    return new Map();
  };
  const held = { guildId: '1', serverId: 'a', endsInMs: -1_000 };
  const database: Queryable = { query: async <Row>() => [held] as Row[] };
  const leases = { take } as unknown as Leases;
  const polls = new Polls({ database, leases, mostWaiting: 1 });
  const asked = { guildId: '1', serverId: 'a', limit: 1 };
  expect(await polls.take(asked, 300, new AbortController().signal)).toEqual([]);
  expect(rounds).toBeGreaterThan(1);
  expect(rounds).toBeLessThan(9);
});
