import { expect, test } from 'vitest';
import { Lane } from './lane.ts';

test('a lane has places for all guilds together, and fewer for each', () => {
  const lane = new Lane({ max: 3, maxPerGuild: 2 });
  expect(lane.freeFor('a')).toBe(2);
  lane.enter('a');
  const second = lane.enter('a');
  expect([lane.freeFor('a'), lane.freeFor('b'), lane.free, lane.used]).toEqual([0, 1, 1, 2]);
  expect(lane.fullGuilds).toEqual(['a']);
  lane.enter('b');
  expect([lane.freeFor('a'), lane.freeFor('b'), lane.free]).toEqual([0, 0, 0]);
  second.leave();
  expect([lane.freeFor('a'), lane.free, lane.fullGuilds]).toEqual([1, 1, []]);
});

test('a place is given up once', () => {
  const lane = new Lane({ max: 3, maxPerGuild: 2 });
  lane.enter('a');
  const place = lane.enter('a');
  place.leave();
  place.leave();
  expect([lane.used, lane.usedBy('a'), lane.usedBy('b')]).toEqual([1, 1, 0]);
});
