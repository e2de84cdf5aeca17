import { expect, test } from 'vitest';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Leases } from './leases.ts';
import { Polls } from './polls.ts';

test('a poll pauses between checks while another transaction holds a command past the end of its lease', async () => {
  let rounds = 0;
  const lease = async () => {
    rounds++;
    return new Map();
  };
  const locked = { guildId: '1', serverId: 'a', endsInMs: -1_000 };
  const database: Queryable = { query: async <Row>() => [locked] as Row[] };
  const leases = { lease } as unknown as Leases;
  const polls = new Polls({ database, leases, maxWaiting: 1 });
  const request = { guildId: '1', serverId: 'a', limit: 1 };
  expect(await polls.poll(request, 300, new AbortController().signal)).toEqual([]);
  expect(rounds).toBeGreaterThan(1);
  expect(rounds).toBeLessThan(9);
});
