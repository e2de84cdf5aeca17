import { expect, test } from 'vitest';
import type { CommandRecord } from '../store/command-records.ts';
import { commandState, outcomeOf } from './command-outcome.ts';

const NOW = 1_790_000_000_000;
const shared: CommandRecord = {
  commandId: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11',
  sequence: 1,
  serverId: '',
  placeId: null,
  excludedServerId: null,
  servers: 3,
  type: 'ban',
  targetGameId: null,
  targetGameUsername: null,
  payload: {},
  issuedBy: null,
  createdAt: new Date(NOW - 1_000),
  expiresAt: new Date(NOW),
  cancelledAt: null,
  attempt: 0,
  leasedUntil: null,
  status: null,
  result: null,
  error: null,
  ackedAt: null,
  delivered: 2,
  succeeded: 1,
  failed: 0,
  rejected: 0,
  unacknowledged: 0,
};

test('a command that expired early, to make room for a decision, counts its unfinished deliveries as expired', () => {
  const outcome = outcomeOf(shared, NOW);
  expect(outcome).toEqual({ servers: 3, delivered: 2, succeeded: 1, failed: 0, rejected: 0, expired: 2, cancelled: 0 });
  expect(commandState(shared, outcome)).toBe('finished');
});

test('a server that received a command before it was cancelled may still acknowledge it', () => {
  const outcome = outcomeOf({ ...shared, cancelledAt: new Date(NOW) }, NOW);
  expect(outcome).toMatchObject({ delivered: 2, expired: 0, cancelled: 1 });
});

test('before its end no server counts as expired', () => {
  const outcome = outcomeOf(shared, NOW - 1);
  expect([outcome.expired, commandState(shared, outcome)]).toEqual([0, 'open']);
});
