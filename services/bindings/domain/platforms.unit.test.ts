import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ApiError } from '#kit/errors.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { NewBinding } from './binding.ts';
import { checkTargets } from './platforms.ts';

const ROLE = {
  id: '910000000000000001',
  name: 'Officer',
  position: 1,
  color: 0,
  managed: false,
  belowBot: true,
  isBotRole: false,
  assignable: true,
};
const binding = {
  chatRoleId: ROLE.id,
  type: 'group_rank',
  gameGroupId: 501,
  minRank: 1,
  maxRank: 2,
  conditions: [],
} as unknown as NewBinding;

/** Calls checkTargets with platforms that respond after `ms` milliseconds. */
function check(ms: number, deadlineMs: number) {
  const group = async (id: number) => wait(ms, { id, name: 'Harbor Crew', roles: [] });
  const chat = { roles: async () => wait(ms, [ROLE]) } as unknown as ChatPlatform;
  return checkTargets({ group } as unknown as GamePlatform, chat, '900000000000000001', binding, deadlineMs);
}

test('the names from both platforms are returned', async () => {
  expect(await check(0, 1_000)).toEqual({ role: 'Officer', group: 'Harbor Crew' });
});

test('the timeout applies to both platforms together', async () => {
  await expect(check(300, 400)).rejects.toMatchObject({ code: 'TIMEOUT' });
  await expect(check(300, 400)).rejects.toBeInstanceOf(ApiError);
});
