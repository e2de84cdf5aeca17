import { describe } from 'vitest';
import { MemoryTurns } from './memory-slots.ts';
import { turnsSuite } from './slots.suite.ts';

describe('turns in memory', () => {
  let now = 0;
  const sleep = async (milliseconds: number) => void (now += milliseconds);
  turnsSuite(async (places) => new MemoryTurns({ places, windowMs: 1_000 }, () => now), { now: () => now, sleep });
});
