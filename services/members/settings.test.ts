import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import { connect } from '#test/network/grpc.ts';
import { failWrites } from '#test/postgres/failing-table.ts';
import { TEST_SOURCE } from '#test/system/signed-calls.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';

const DEFAULTS = {
  sync_on_link: true,
  sync_on_join: false,
  sync_on_rank_change: false,
  nickname_template: null,
  mirror_bans: { universe_ids: [], exclude_alts: false },
  mirror_timeouts: false,
  push_commands: false,
  invite_channel_id: null,
  oauth_join: false,
};

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterEach(() =>
  fixture.query(
    'TRUNCATE members.guild_settings, members.rank_polls, members.idempotency, members.events, members.event_counters',
  ),
);
afterAll(() => fixture.stop());

const path = (guildId = GUILD) => `/guilds/${guildId}/settings`;
const get = async (guildId = GUILD) => (await fixture.get(path(guildId), { guildId })).body.data;
const patch = (body: unknown, request: object = {}) => fixture.patch(path(), body, request);
const audited = () => fixture.query('SELECT type, source, data, before FROM members.events ORDER BY number');

test('a guild that has changed nothing has the defaults', async () => {
  const response = await fixture.get(path());
  expect([response.status, response.body.data]).toEqual([200, DEFAULTS]);
});

test('a change keeps the other settings, and belongs to one guild', async () => {
  const first = await patch({ sync_on_join: true, nickname_template: '{game_username}' });
  const expected = { ...DEFAULTS, sync_on_join: true, nickname_template: '{game_username}' };
  expect([first.status, first.body.data]).toEqual([200, expected]);
  await patch({ mirror_bans: { universe_ids: ['30001', 30002, 30001] }, push_commands: true });
  await patch({ mirror_bans: { exclude_alts: true }, mirror_timeouts: true, sync_on_link: null });
  expect(await get()).toEqual({
    ...expected,
    mirror_bans: { universe_ids: [30001, 30002], exclude_alts: true },
    mirror_timeouts: true,
    push_commands: true,
  });
  expect(await get(OTHER_GUILD)).toEqual(DEFAULTS);
});

test('null removes the nickname template and the channel of invites', async () => {
  await patch({ nickname_template: '{rank_name} {game_username}', invite_channel_id: GUILD, oauth_join: true });
  expect(await get()).toMatchObject({ invite_channel_id: GUILD, oauth_join: true });
  const removed = await patch({ nickname_template: null, invite_channel_id: null, oauth_join: false });
  expect(removed.body.data).toEqual(DEFAULTS);
});

test('every fault is reported, and nothing is changed', async () => {
  const universe_ids = Array.from({ length: 11 }, (_, index) => index + 1);
  const response = await patch({
    sync_on_join: 'yes',
    nickname_template: '{name}',
    mirror_bans: { universe_ids, exclude_alts: 1 },
    invite_channel_id: 'general',
  });
  expect([response.status, response.body.details.errors.map(({ path }: { path: string }) => path)]).toEqual([
    400,
    [
      'body.sync_on_join',
      'body.nickname_template',
      'body.mirror_bans.universe_ids',
      'body.mirror_bans.exclude_alts',
      'body.invite_channel_id',
    ],
  ]);
  expect(await get()).toEqual(DEFAULTS);
});

test.each([{}, [], { sync_on_jion: true }, { sync_on_join: null }])(
  '%j changes nothing and is rejected',
  async (body) => {
    const { status, body: response } = await patch(body);
    expect([status, response.details.errors]).toEqual([
      400,
      [{ path: 'body', message: 'must hold at least one setting' }],
    ]);
  },
);

test('a repeated request gets the stored response, and concurrent changes are all kept', async () => {
  const first = await patch({ sync_on_join: true }, { key: 'once' });
  await patch({ sync_on_join: false });
  expect((await patch({ sync_on_join: true }, { key: 'once' })).body).toEqual(first.body);
  await Promise.all([
    patch({ sync_on_rank_change: true }),
    patch({ mirror_timeouts: true }),
    patch({ push_commands: true }),
    patch({ mirror_bans: { universe_ids: [1] } }),
  ]);
  expect(await get()).toEqual({
    ...DEFAULTS,
    sync_on_rank_change: true,
    mirror_timeouts: true,
    push_commands: true,
    mirror_bans: { universe_ids: [1], exclude_alts: false },
  });
});

test('a change is in the audit with the settings before it, and without it nothing is changed', async () => {
  await patch({ sync_on_join: true });
  await patch({ sync_on_join: true });
  const changed = { ...DEFAULTS, sync_on_join: true };
  expect(await audited()).toEqual([{ type: 'settings.updated', source: TEST_SOURCE, data: changed, before: DEFAULTS }]);
  const repair = await failWrites(fixture.database.url, 'members.events', GUILD, 'statement');
  expect((await patch({ push_commands: true })).status).toBe(500);
  await repair();
  expect(await get()).toEqual(changed);
});

test('other services read the settings with a version that increases with each change', async () => {
  const { client, close } = connect(
    GuildSettingsServiceService,
    'members',
    fixture.members.addresses.grpc ?? '',
    fixture.clock,
  );
  expect((await client.getGuildSettings({ guildId: GUILD })).settings).toMatchObject({
    syncOnLink: true,
    mirrorBansUniverseIds: [],
    version: 0,
  });
  await patch({ mirror_bans: { universe_ids: [30001] } });
  await patch({ mirror_bans: { universe_ids: [30001] } });
  await patch({ nickname_template: '{game_username}' });
  expect((await client.getGuildSettings({ guildId: GUILD })).settings).toMatchObject({
    nicknameTemplate: '{game_username}',
    mirrorBansUniverseIds: [30001],
    version: 2,
  });
  close();
});
