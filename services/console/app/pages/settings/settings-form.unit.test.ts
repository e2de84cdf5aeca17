import { expect, test } from 'vitest';
import { changesOf, formOf } from './settings-form.ts';

const STORED = {
  sync_on_link: true,
  sync_on_join: false,
  sync_on_rank_change: false,
  nickname_template: '{game_username}',
  mirror_bans: { universe_ids: [1, 2], exclude_alts: false },
  mirror_timeouts: false,
  push_commands: true,
  invite_channel_id: '900000000000000001',
  oauth_join: false,
};
const changes = (form: Partial<ReturnType<typeof formOf>>) => changesOf({ ...formOf(STORED), ...form }, STORED);

test('an unchanged form changes nothing', () => {
  expect(changes({})).toBeUndefined();
  expect(changes({ universes: ' 1 2, ', template: ' {game_username} ' })).toBeUndefined();
});

test('only what differs is sent', () => {
  expect(changes({ syncOnJoin: true, pushCommands: false })).toEqual({ sync_on_join: true, push_commands: false });
  expect(changes({ excludeAlts: true })).toEqual({ mirror_bans: { exclude_alts: true } });
  expect(changes({ universes: '' })).toEqual({ mirror_bans: { universe_ids: [] } });
});

test('an empty template or channel removes it', () => {
  expect(changes({ inviteChannel: '' })).toEqual({ invite_channel_id: null });
  expect(changes({ template: ' ' })).toEqual({ nickname_template: null });
});

test.each(['x', '0', '1,2,3,4,5,6,7,8,9,10,11'])('universes %s are invalid', (universes) => {
  expect(changes({ universes })).toBe('invalid');
});
