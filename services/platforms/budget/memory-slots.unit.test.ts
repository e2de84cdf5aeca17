import { describe, expect, test } from 'vitest';
import { MemorySlots } from './memory-slots.ts';
import { sharesSuite } from './shares.suite.ts';
import { callSlotsSuite } from './slots.suite.ts';
import { type Allowance, CALLING_MS, type Caller } from './slots.ts';

let now = 0;
const sleep = async (milliseconds: number) => void (now += milliseconds);
const create = async (allowance: Allowance) => new MemorySlots(allowance, () => now);
const caller = (id: string, guildId: string): Caller => ({ id, guildId, purpose: 'caller' });

describe('slots in memory', () => {
  const time = { now: () => now, sleep };
  callSlotsSuite((slots) => create({ slots, windowMs: 1_000 }), time);
  sharesSuite(create, time);
});

test('a guild whose last call was an hour ago does not limit the share of another', async () => {
  const slots = await create({ slots: 2, windowMs: 60_000 });
  await slots.acquire(caller('first', 'other'));
  now += CALLING_MS;
  expect(await slots.acquire(caller('second', 'greedy'))).toBe(0);
  expect(await slots.acquire(caller('third', 'greedy'))).toBe(0);
});

test('slots that Redis granted count for the share of their guild', async () => {
  const slots = await create({ slots: 10, windowMs: 60_000 });
  slots.occupy(caller('first', 'other'));
  for (let call = 0; call < 5; call++) slots.occupy(caller(`${call}`, 'greedy'));
  expect(await slots.acquire(caller('sixth', 'greedy'))).toBeGreaterThan(0);
  expect(await slots.acquire(caller('second', 'other'))).toBe(0);
});
