// The mirror of bans in a running service, with the settings of guilds from members, and guildctl.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import type { RunningService } from '#kit/service/service.ts';
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import { guildctlJson, runGuildctl } from '#services/cli/fixtures/guildctl.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { ADMIN_SECRET, ModerationFixture, newGuild, newPlayer } from './fixture.ts';
import { FakeSettingsService } from './fixtures/settings-peer.ts';

const UNIVERSE = 30_001;

const fixture = new ModerationFixture(systemClock);
const settings = new FakeSettingsService();
const guildId = newGuild();
let simulators: Simulators;
let auth: TestAuth;
let replica: RunningService;
beforeAll(async () => {
  [simulators] = await Promise.all([startSimulators(), fixture.start(), settings.start()]);
  auth = await startAuthForOperators(fixture.database.url);
  settings.guilds = [{ guildId, universeIds: [UNIVERSE], excludeAlts: false }];
  replica = await fixture.startReplica({
    MEMBERS_GRPC_ADDRESS: settings.address,
    GAME_API_KEY: 'test-game-key',
    GAME_APIS_URL: simulators.game,
    BAN_MIRROR_UNIVERSES: `${guildId}:${UNIVERSE}`,
    BAN_MIRROR_POLL_SECONDS: '1',
  });
});
afterAll(async () => {
  await replica.stop();
  await auth.stop();
  await Promise.all([fixture.stop(), settings.stop(), simulators.stop()]);
});

const environment = () => ({
  GUILDCTL_AUTH: auth.address,
  GUILDCTL_MODERATION: replica.addresses.grpc,
  ADMIN_SECRETS: ADMIN_SECRET,
});

/** The players whom the platform keeps out. */
async function restricted(): Promise<string[]> {
  const response = await fetch(`${simulators.game}/__restrictions`);
  const { restrictions } = (await response.json()) as { restrictions: { user: string; active: boolean }[] };
  return restrictions.filter(({ active }) => active).map(({ user }) => user);
}

const restrict = (user: number, active: boolean) =>
  fetch(`${simulators.game}/__restrictions`, {
    method: 'POST',
    body: JSON.stringify({ universe: UNIVERSE, user, active }),
  });

test('a ban keeps the player out of the game, and a ban made in the game is a ban of the guild', async () => {
  const [banned, caught] = [newPlayer(), newPlayer()];
  await fixture.decide('ban', { game_id: banned }, { guildId, at: replica });
  // Also if the guild's settings were read only after the ban.
  await expect.poll(restricted, { timeout: 10_000 }).toEqual([String(banned)]);
  await restrict(caught, true);
  const status = () => fixture.banStatus(caught, '?no_cache=true', { guildId, at: replica });
  await expect.poll(status, { timeout: 10_000 }).toMatchObject({ banned: true });
  await restrict(banned, false);
  const other = () => fixture.banStatus(banned, '?no_cache=true', { guildId, at: replica });
  await expect.poll(other, { timeout: 10_000 }).toEqual({ banned: false });
  await fixture.decide('unban', { game_id: caught }, { guildId, at: replica });
  await expect.poll(restricted, { timeout: 10_000 }).toEqual([]);
});

test('guildctl compares all bans on request, and shows the result', async () => {
  const words = ['--guild', guildId];
  const { universes } = await guildctlJson<{ universes: object[] }>(
    ['bans', 'reconcile', ...words, '--wait'],
    environment(),
  );
  expect(universes).toMatchObject([{ universe_id: UNIVERSE, compared: 2, drifted: 0, last_error: null }]);
  expect(await guildctlJson(['bans', 'drift', ...words], environment())).toMatchObject({
    universes: [{ universe_id: UNIVERSE, compared: 2 }],
    differences: [],
  });
  const { out } = await runGuildctl(['bans', 'drift', ...words], environment());
  expect(out).toMatch(/No ban differs from the game platform\.\n$/);
  const { status, error } = await runGuildctl(['bans', 'reconcile', '--guild', newGuild()], environment());
  expect([status, error]).toEqual([1, expect.stringContaining('The bans of this guild are not mirrored')]);
});

test('guildctl shows the players whose bans cannot be mirrored, with the reason', async () => {
  const player = newPlayer();
  await fetch(`${simulators.game}/__faults`, {
    method: 'POST',
    body: JSON.stringify({ match: `/user-restrictions/${player}`, status: 403 }),
  });
  await fixture.decide('ban', { game_id: player }, { guildId, at: replica });
  const drift = () =>
    guildctlJson<{ differences: object[] }>(['bans', 'drift', '--guild', guildId], environment()).then(
      ({ differences }) => differences,
    );
  await expect
    .poll(drift, { timeout: 10_000 })
    .toMatchObject([
      { game_id: player, state: 'queued', last_error: expect.stringContaining('GAME_API_KEY lacks the permissions') },
    ]);
});
