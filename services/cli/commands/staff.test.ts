import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { StaffAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { ActivityFixture, ADMIN_SECRET, newGuild } from '#services/activity/fixture.ts';
import { connect } from '#test/network/grpc.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { guildctlJson, runGuildctl } from '../fixtures/guildctl.ts';

const OFFICER = '910000000000000001';
const CAPTAIN = '910000000000000002';

const fixture = new ActivityFixture();
let auth: TestAuth;
beforeAll(async () => {
  await fixture.start();
  auth = await startAuthForOperators(fixture.testDatabase.url);
  // guildctl uses the machine's clock.
  fixture.clock.advance(systemClock.now() - fixture.clock.now());
});
afterAll(async () => {
  await auth.stop();
  await fixture.stop();
});

const environment = () => ({
  GUILDCTL_AUTH: auth.address,
  GUILDCTL_ACTIVITY: fixture.activity.addresses.grpc,
  ADMIN_SECRETS: ADMIN_SECRET,
});
const run = (...words: string[]) => runGuildctl(['staff', ...words], environment());
const json = (...words: string[]) => guildctlJson<unknown>(['staff', ...words], environment());

test('staff set, list and remove print the documented output', async () => {
  const guild = ['--guild', newGuild()];
  expect((await run('list', ...guild)).out).toBe('The guild has no staff roles.\n');
  const settings = ['--level', '5', '--name', 'Officer', '--permissions', 'mute, kick,mute'];
  const officer = await json('set', ...guild, '--role', OFFICER, ...settings);
  expect(officer).toEqual({
    chat_role_id: OFFICER,
    level: 5,
    name: 'Officer',
    permissions: ['kick', 'mute'],
    updated_at: Math.floor(fixture.clock.now() / 1000),
  });
  const captain = await json('set', ...guild, '--role', CAPTAIN, '--level', '10', '--name', 'Captain');
  expect(captain).toMatchObject({ level: 10, permissions: [] });
  expect(await json('list', ...guild)).toEqual({ roles: [captain, officer] });
  expect((await run('list', ...guild)).out).toMatch(/5 +910000000000000001 +Officer +kick,mute/);
  const lowered = await json('set', ...guild, '--role', CAPTAIN, '--level', '0', '--name', 'Retired');
  expect(await json('list', ...guild)).toEqual({ roles: [officer, lowered] });
  expect(await json('remove', ...guild, '--role', OFFICER)).toEqual(officer);
  expect(await json('list', ...guild)).toEqual({ roles: [lowered] });
  const again = await run('remove', ...guild, '--role', OFFICER);
  expect(again).toEqual({ status: 1, out: '', error: 'guildctl: The guild has no such staff role\n' });
});

test('concurrent calls cannot set more than 100 staff roles in a guild, and existing roles can be changed', async () => {
  const guild = newGuild();
  const { client, close } = connect(
    StaffAdminServiceService,
    'activity',
    fixture.activity.addresses.grpc ?? '',
    fixture.clock,
    [ADMIN_SECRET],
  );
  const set = (role: number) =>
    client.setStaffRole({
      guildId: guild,
      chatRoleId: String(910000000000000000n + BigInt(role)),
      level: 1,
      name: 'x',
      permissions: [],
      actor: 'ada',
    });
  const settle = (from: number, to: number) =>
    Promise.allSettled(Array.from({ length: to - from }, (_, index) => set(from + index)));
  // Only the last calls exceed the limit. More concurrent calls would only wait for database connections.
  for (const from of [0, 30, 60]) await settle(from, from + 30);
  const outcomes = await settle(90, 103);
  const rejected = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(rejected.map(({ reason }) => (reason as { code: string }).code)).toEqual(Array(3).fill('CONFLICT'));
  const { roles } = await client.listStaffRoles({ guildId: guild });
  expect(roles).toHaveLength(100);
  const [first] = roles;
  expect((await set(Number(BigInt(first?.chatRoleId ?? 0) - 910000000000000000n))).role?.name).toBe('x');
  close();
});

test('the secret of services is rejected for the administration of staff roles', async () => {
  const { client, close } = connect(
    StaffAdminServiceService,
    'activity',
    fixture.activity.addresses.grpc ?? '',
    fixture.clock,
  );
  await expect(client.listStaffRoles({ guildId: newGuild() })).rejects.toMatchObject({ cause: { code: 16 } });
  close();
});

test.each([
  [['set'], ['--guild is required', '--role is required', '--level is required', '--name is required']],
  [
    ['set', '--guild', '900000000000000001', '--role', OFFICER, '--level', '11', '--name', 'x'],
    ['--level must be a whole number from 0 to 10'],
  ],
  [
    ['set', '--guild', '1', '--role', 'x', '--level', '1', '--name', 'x'.repeat(101), '--permissions', 'kick,a b'],
    ['--guild must be', '--role must be', '--name must', '--permissions (number 2) must be 1 to 64 of'],
  ],
  [['list'], ['--guild is required']],
  [['remove'], ['--guild is required', '--role is required']],
])('staff %j fails, and prints every fault to standard error only', async (words, faults) => {
  const { status, out, error } = await run(...words);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  for (const fault of faults) expect(error).toContain(fault);
});
