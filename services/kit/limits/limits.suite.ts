import { describe, expect, test } from 'vitest';
import type { Decision, Limit, Limiter, LimitState } from './limiter.ts';

const GUILD = '900000000000000001';
const LOOKUP: Limit = { category: 'lookup', limit: 5, subject: GUILD };
const CAP: Limit = { category: 'api_key', limit: 3, subject: 'key-1' };

/**
 * Tests the guarantees of every rate limiter. `create` returns a limiter that has counted nothing yet, in a window that
 * does not end.
 */
export function limiterSuite(name: string, create: () => Promise<Limiter>): void {
  describe(`${name} limiter`, () => {
    test('allows exactly the limit and returns the remaining requests', async () => {
      const decisions = await decideTimes(await create(), [LOOKUP], 7);
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false, false]);
      expect(decisions.map(({ states }) => states[0]?.remaining)).toEqual([4, 3, 2, 1, 0, 0, 0]);
      for (const { mode, states } of decisions) {
        expect(mode).toBe('exact');
        expect(states).toEqual([expect.objectContaining({ category: 'lookup', limit: 5 })]);
        expect(states[0]?.resetMs).toBeGreaterThan(0);
        expect(Number.isInteger(states[0]?.resetMs)).toBe(true);
      }
    });

    test('allows exactly the limit of concurrent requests', async () => {
      const limiter = await create();
      const decisions = await Promise.all(
        Array.from({ length: 50 }, async () => limiter.decide(GUILD, [{ ...LOOKUP, limit: 20 }])),
      );
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20);
    });

    test('counts a request towards all of its limits or, if one rejects it, towards none', async () => {
      const limiter = await create();
      const decisions = await decideTimes(limiter, [LOOKUP, CAP], 6);
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false, false]);
      expect(rejectedBy(decisions[3])).toMatchObject({ category: 'api_key', limit: 3, remaining: 0 });
      const others = await decideTimes(limiter, [LOOKUP], 3);
      expect(others.map(({ allowed }) => allowed)).toEqual([true, true, false]);
      expect(rejectedBy(others[2])).toMatchObject({ category: 'lookup', limit: 5, remaining: 0 });
    });

    test('reports the category if it and the cap of the key are both exhausted', async () => {
      const limiter = await create();
      const both = [
        { ...CAP, limit: 2 },
        { ...LOOKUP, limit: 2 },
      ];
      const [, , rejected] = await decideTimes(limiter, both, 3);
      expect(rejectedBy(rejected)?.category).toBe('lookup');
    });

    test('counts guilds, categories and keys separately', async () => {
      const limiter = await create();
      await decideTimes(limiter, [LOOKUP], 5);
      const other = '900000000000000002';
      const apart: [string, Limit][] = [
        [other, { ...LOOKUP, subject: other }],
        [GUILD, { ...LOOKUP, category: 'bindings_read' }],
        [GUILD, CAP],
        [GUILD, { ...CAP, subject: 'key-2' }],
      ];
      for (const [guild, limit] of apart) {
        const decision = await limiter.decide(guild, [limit]);
        expect(decision.states[0]?.remaining).toBe(limit.limit - 1);
      }
      expect((await limiter.decide(GUILD, [LOOKUP])).allowed).toBe(false);
    });

    test('applies a changed limit immediately, to the requests already counted', async () => {
      const limiter = await create();
      await decideTimes(limiter, [CAP], 3);
      const raised = await limiter.decide(GUILD, [{ ...CAP, limit: 10 }]);
      expect(raised).toMatchObject({ allowed: true, states: [{ remaining: 6 }] });
      const lowered = await limiter.decide(GUILD, [{ ...CAP, limit: 2 }]);
      expect(lowered).toMatchObject({ allowed: false, states: [{ remaining: 0 }] });
    });
  });
}

async function decideTimes(limiter: Limiter, limits: Limit[], times: number): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (let time = 0; time < times; time += 1) decisions.push(await limiter.decide(GUILD, limits));
  return decisions;
}

function rejectedBy(decision: Decision | undefined): LimitState | undefined {
  return decision && !decision.allowed ? decision.rejectedBy : undefined;
}
