import { describe } from 'vitest';
import { MemoryTurns } from './memory.ts';
import { turnsSuite } from './turns.suite.ts';

describe('turns in memory', () => {
  turnsSuite(async (places) => new MemoryTurns(places));
});
