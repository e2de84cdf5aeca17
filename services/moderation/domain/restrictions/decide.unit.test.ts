import { describe, expect, test } from 'vitest';
import { type Comparison, decideStep } from './decide.ts';

const NOW = 1_000_000_000;
const HOUR = 3_600_000;

const ban = { id: 7, endsAt: NOW + HOUR };
const restriction = { startedAt: NOW - 5_000, endsAt: NOW + HOUR };
const longer = { startedAt: NOW - 1_000, endsAt: Number.POSITIVE_INFINITY };
const nothing = { banId: null, banEnd: undefined, restriction: null };
const both = { banId: 7, banEnd: undefined, restriction };

const decide = (comparison: Partial<Comparison>) =>
  decideStep({
    ban: undefined,
    restriction: undefined,
    agreed: nothing,
    isOwnWrite: false,
    now: NOW,
    ...comparison,
  });

describe('one side has changed, and the other one follows', () => {
  test.each<[string, Partial<Comparison>, string]>([
    ['a new ban', { ban }, 'restrict'],
    ['a new restriction', { restriction }, 'import'],
    ['a lifted ban', { restriction, agreed: { ...both, banEnd: 'lifted' } }, 'release'],
    ['a lifted restriction', { ban, agreed: both }, 'lift'],
    ['another ban', { ban: { id: 8, endsAt: NOW + 9 * HOUR }, restriction, agreed: both }, 'restrict'],
    ['another restriction', { ban, restriction: longer, agreed: both }, 'import'],
  ])('%s', (_, comparison, step) => {
    expect(decide(comparison)).toBe(step);
  });
});

describe('both sides have changed', () => {
  test.each<[string, Partial<Comparison>, string]>([
    ['to nothing', { agreed: { ...both, banEnd: 'lifted' } }, 'agree'],
    ['to bans that end together', { ban: { id: 8, endsAt: NOW + HOUR + 900 }, restriction, agreed: nothing }, 'agree'],
    ['to different bans: that of the guild wins', { ban, restriction: longer }, 'restrict'],
    ['lifted here, banned there', { restriction: longer, agreed: { ...both, banEnd: 'lifted' } }, 'import'],
    ['banned here, lifted there', { ban: { ...ban, id: 8 }, agreed: both }, 'restrict'],
  ])('%s', (_, comparison, step) => {
    expect(decide(comparison)).toBe(step);
  });
});

describe('nothing is written', () => {
  test.each<[string, Partial<Comparison>, string]>([
    ['while both are equal', { ban, restriction, agreed: both }, 'agree'],
    ['while both are permanent', { ban: { id: 7, endsAt: Number.POSITIVE_INFINITY }, restriction: longer }, 'agree'],
    [
      'for a ban that has expired, whose restriction ends in a moment',
      {
        restriction: { ...restriction, endsAt: NOW + 3_000 },
        agreed: { banId: 7, banEnd: 'expired', restriction: { ...restriction, endsAt: NOW + 3_000 } },
      },
      'wait',
    ],
    [
      'for a restriction that has expired a moment before its ban',
      {
        ban: { id: 7, endsAt: NOW + 3_000 },
        agreed: { ...both, restriction: { ...restriction, endsAt: NOW + 2_000 } },
      },
      'wait',
    ],
  ])('%s', (_, comparison, step) => {
    expect(decide(comparison)).toBe(step);
  });
});

describe('the result of an earlier write of ours is no decision of the platform', () => {
  test.each<[string, Partial<Comparison>, string]>([
    ['a late restriction of a lifted ban', { restriction: longer, agreed: nothing }, 'release'],
    ['a late restriction of a replaced ban', { ban, restriction: longer, agreed: both }, 'restrict'],
    ['a late release', { ban, agreed: both }, 'restrict'],
    ['a restriction whose response was lost', { ban, restriction, agreed: nothing }, 'agree'],
    ['a release whose response was lost', { agreed: { ...both, banEnd: 'lifted' } }, 'agree'],
  ])('%s', (_, comparison, step) => {
    expect(decide({ ...comparison, isOwnWrite: true })).toBe(step);
  });
});
