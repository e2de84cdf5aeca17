import { expect, test } from 'vitest';
import { isDuration } from './duration.ts';
import type { GuildData } from './guild-data.ts';
import type { EventPattern } from './index.ts';

// The compiler checks this function; it is never called. An expected error that does not occur is an error as well.
async function wrongCalls(guild: GuildData): Promise<void> {
  const ban = { game_id: 7001, reason: 'Spams the chat' };
  const binding = { chat_role_id: '910000000000000001' };
  // @ts-expect-error -- the unit does not exist
  await guild.banPlayer({ ...ban, duration: '2 weeks' });
  // @ts-expect-error -- the unit does not exist
  await guild.banPlayer({ ...ban, duration: '2w' });
  // @ts-expect-error -- scope place needs place_id
  await guild.banPlayer({ ...ban, scope: 'place' });
  // @ts-expect-error -- place_id needs scope place
  await guild.banPlayer({ ...ban, place_id: 4001 });
  // @ts-expect-error -- a reason is required
  await guild.banPlayer({ game_id: 7001 });
  // @ts-expect-error -- one of the IDs is required
  await guild.syncRoles({});
  // @ts-expect-error -- only one of the IDs may be given
  await guild.reverseLookup({ chat_id: '920000000000000001', game_id: 7001 });
  // @ts-expect-error -- account_age needs its platform and its days
  await guild.addBinding({ ...binding, binding_type: 'account_age' });
  // @ts-expect-error -- fields of another type
  await guild.addBinding({ ...binding, binding_type: 'badge', game_gamepass_id: 1 });
  // @ts-expect-error -- a kick needs a target
  await guild.sendCommand({ type: 'kick', all: true });
  // @ts-expect-error -- a command is for all servers, one server or one place
  await guild.sendCommand({ type: 'broadcast', payload: { text: 'Hello' } });
  // @ts-expect-error -- the path has an ID
  await guild.getMember();
  // @ts-expect-error -- there is no such group of events
  for await (const event of guild.events({ types: ['bans.*'] })) await guild.getMember({ chatId: event.id });
  const status = await guild.getBanStatus({ identifier: 7001 });
  // @ts-expect-error -- only banned players have it
  status.ban_info.reason.trim();
}

async function rightCalls(guild: GuildData): Promise<void> {
  const ban = { game_id: '7001', reason: 'Spams the chat' };
  for (const duration of ['30s', '5m', '1h', '7d', '3600', 'permanent', 3600, null] as const) {
    await guild.banPlayer({ ...ban, duration });
  }
  await guild.banPlayer({ ...ban, scope: 'place', place_id: 4001 });
  await guild.syncRoles({ chat_id: '920000000000000001', dry_run: true });
  await guild.addBinding({
    chat_role_id: '910000000000000001',
    binding_type: 'account_age',
    account_age_platform: 'game',
    account_age_min_days: 30,
  });
  await guild.sendCommand({ type: 'kick', all: true, target: { game_id: 7001 }, payload: { reason: 'AFK' } });
  for await (const event of guild.events({ types: ['ban.*', 'link.created'] })) {
    if (event.type === 'link.created' && !('erased' in event.data)) event.data.game_username.trim();
  }
  const pattern: EventPattern = 'sync.*';
  expect(pattern).toBe('sync.*');
}

test('wrong calls do not compile, and right ones do', () => {
  expect([wrongCalls.length, rightCalls.length]).toEqual([1, 1]);
});

test('isDuration accepts exactly what the API accepts', () => {
  const wanted = ['permanent', '7d', '3600', '30s'];
  expect([...wanted, '2 weeks', '2w', '-1d', '1.5h', ''].filter(isDuration)).toEqual(wanted);
});
