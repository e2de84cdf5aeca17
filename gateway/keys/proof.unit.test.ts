import { expect, test } from 'vitest';
import { ChangeProof } from './proof.ts';

test('nothing is proven before the first heartbeat', () => {
  const proof = new ChangeProof();
  expect(proof.isAlive(0)).toBe(false);
  expect(proof.covers(0, 0)).toBe(false);
  expect(proof.confirmedAt(5)).toBe(5);
});

test('data read since the first heartbeat is covered, data read before it is not', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  expect(proof.covers(999, 1_100)).toBe(false);
  expect(proof.covers(1_000, 1_100)).toBe(true);
});

test('without a heartbeat for 2.5 s nothing is covered until the next heartbeat', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  expect(proof.covers(1_000, 3_499)).toBe(true);
  expect(proof.covers(1_000, 3_500)).toBe(false);
  proof.beat(4_000);
  expect(proof.covers(1_000, 4_000)).toBe(true);
});

test('an ended stream is not alive, but its last heartbeat covers data for 2.5 s', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  expect(proof.isAlive(1_000)).toBe(true);
  proof.disconnect();
  expect(proof.isAlive(1_000)).toBe(false);
  expect(proof.covers(1_000, 3_499)).toBe(true);
  expect(proof.covers(1_000, 3_500)).toBe(false);
  proof.beat(4_000);
  expect(proof.isAlive(4_000)).toBe(true);
});

test('a gap of less than 10 s between heartbeats keeps the proof, a longer one ends it', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  proof.beat(10_999);
  expect(proof.covers(1_000, 10_999)).toBe(true);
  proof.beat(20_999);
  expect(proof.covers(1_000, 20_999)).toBe(false);
  expect(proof.covers(20_998, 20_999)).toBe(false);
  expect(proof.covers(20_999, 20_999)).toBe(true);
});

test('each heartbeat confirms the data that it covers', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  proof.beat(2_000);
  expect(proof.confirmedAt(1_500)).toBe(2_000);
  expect(proof.confirmedAt(2_500)).toBe(2_500);
  expect(proof.confirmedAt(500)).toBe(500);
});

test('setting the clock back ends the proof', () => {
  const proof = new ChangeProof();
  proof.beat(100_000);
  expect(proof.isAlive(50_000)).toBe(false);
  proof.beat(50_000);
  expect(proof.covers(100_000, 50_000)).toBe(true);
  expect(proof.covers(49_999, 50_000)).toBe(false);
});
