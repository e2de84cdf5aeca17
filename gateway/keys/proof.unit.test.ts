import { expect, test } from 'vitest';
import { ChangeProof } from './proof.ts';

test('nothing is vouched for before the first beat', () => {
  const proof = new ChangeProof();
  expect(proof.isAlive(0)).toBe(false);
  expect(proof.covers(0, 0)).toBe(false);
  expect(proof.confirmedAt(5)).toBe(5);
});

test('what was read since the first beat is vouched for, what was read before is not', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  expect(proof.covers(999, 1_100)).toBe(false);
  expect(proof.covers(1_000, 1_100)).toBe(true);
});

test('after two missed beats and a bit nothing is vouched for, until it beats again', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  expect(proof.covers(1_000, 3_499)).toBe(true);
  expect(proof.covers(1_000, 3_500)).toBe(false);
  proof.beat(4_000);
  expect(proof.covers(1_000, 4_000)).toBe(true);
});

test('a stream that has ended is not alive, and what it vouched for lasts as long as after a last beat', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  expect(proof.isAlive(1_000)).toBe(true);
  proof.cut();
  expect(proof.isAlive(1_000)).toBe(false);
  expect(proof.covers(1_000, 3_499)).toBe(true);
  expect(proof.covers(1_000, 3_500)).toBe(false);
  proof.beat(4_000);
  expect(proof.isAlive(4_000)).toBe(true);
});

test('a gap under 10 s is bridged, a longer one is not', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  proof.beat(10_999);
  expect(proof.covers(1_000, 10_999)).toBe(true);
  proof.beat(20_999);
  expect(proof.covers(1_000, 20_999)).toBe(false);
  expect(proof.covers(20_998, 20_999)).toBe(false);
  expect(proof.covers(20_999, 20_999)).toBe(true);
});

test('what the stream vouches for counts as confirmed by each beat', () => {
  const proof = new ChangeProof();
  proof.beat(1_000);
  proof.beat(2_000);
  expect(proof.confirmedAt(1_500)).toBe(2_000);
  expect(proof.confirmedAt(2_500)).toBe(2_500);
  expect(proof.confirmedAt(500)).toBe(500);
});

test('a clock that is set back ends the proof instead of prolonging it', () => {
  const proof = new ChangeProof();
  proof.beat(100_000);
  expect(proof.isAlive(50_000)).toBe(false);
  proof.beat(50_000);
  expect(proof.covers(100_000, 50_000)).toBe(true);
  expect(proof.covers(49_999, 50_000)).toBe(false);
});
