import { afterAll, beforeAll, expect, test } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { GUILD, MembersFixture } from './fixture.ts';

const ADA = '920000000000000001';
const DECKHAND = '910000000000000003';
const GIVE = 'PUT /api/v10/guilds/:guild/members/:user/roles/:role';

const fixture = new MembersFixture();
let chat: Platform;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  await fixture.linkPastMembers(ADA, 7001);
});
afterAll(() => fixture.stop());

type World = { chat: { guilds: { roles: { permissions: string }[] }[] } };
/** The current world, with a bot that may change nicknames but no roles. */
async function worldWithoutManageRoles(): Promise<World> {
  const world = (await (await fetch(`${chat.url}/__world`)).json()) as World;
  for (const role of world.chat.guilds[0]?.roles ?? []) {
    if (role.permissions === '1099914280961') role.permissions = String(1n << 27n);
  }
  return world;
}

test('without the permission Manage Roles no change is attempted, and each role is reported with the reason', async () => {
  await fixture.bindRank(DECKHAND, { min: 50 });
  await chat.putWorld(await worldWithoutManageRoles());
  const { added, failed } = (await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA })).body.data;
  expect(added).toEqual([]);
  expect(failed).toMatchObject([{ role_id: DECKHAND, code: 'MISSING_PERMISSION' }]);
  expect(failed[0].message).toContain('Manage Roles');
  expect((await chat.calls())[GIVE]).toBeUndefined();
  const { roles } = (await fixture.get(`/guilds/${GUILD}/roles`)).body.data;
  expect(roles.filter(({ assignable }: { assignable: boolean }) => assignable)).toEqual([]);
});
