import { describe } from 'vitest';
import { MemorySlots } from './memory-slots.ts';
import { callSlotsSuite } from './slots.suite.ts';

describe('slots in memory', () => {
  let now = 0;
  const sleep = async (milliseconds: number) => void (now += milliseconds);
  const create = async (slots: number) => new MemorySlots({ slots, windowMs: 1_000 }, () => now);
  callSlotsSuite(create, { now: () => now, sleep });
});
