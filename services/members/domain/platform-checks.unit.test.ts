import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { ChatApplicationState } from '#platforms/chat.ts';
import type { GameKey } from '#platforms/game.ts';
import { DEFAULT_SETTINGS } from '../store/guild-settings.ts';
import { PlatformChecks } from './platform-checks.ts';

const GUILD = '900000000000000001';
const DAY_MS = 24 * 3600 * 1000;
const clock = new ManualClock(1_800_000_000_000);

const APPLICATION: ChatApplicationState = { id: '1', publicKey: null, receivesMembers: true, interactionsUrl: null };
const STANDING = {
  ownerId: null,
  managesNicknames: true,
  managesRoles: true,
  timesOutMembers: true,
  createsInvites: true,
};
const KEY: GameKey = { isValid: true, expiresAt: null, allows: () => true };

interface Found {
  application?: Partial<ChatApplicationState>;
  timesOutMembers?: boolean;
  createsInvites?: boolean;
  key?: Partial<GameKey> | null;
  settings?: Partial<typeof DEFAULT_SETTINGS>;
  isWatched?: boolean;
}

const checksOf = ({ application, key = {}, settings, isWatched, ...standing }: Found) =>
  new PlatformChecks({
    chat: { standing: async () => ({ ...STANDING, ...standing }) },
    application: { read: async () => ({ ...APPLICATION, ...application }) },
    readKey: async () => (key === null ? null : { ...KEY, ...key }),
    settingsOf: async () => ({ ...DEFAULT_SETTINGS, ...settings }),
    isWatched: isWatched === undefined ? undefined : async () => isWatched,
    clock,
  });
const chat = async (found: Found) => (await checksOf(found).ofChat(GUILD)).map(({ name, isOk }) => [name, isOk]);
const game = async (found: Found) => (await checksOf(found).ofGame(GUILD)).map(({ name, isOk }) => [name, isOk]);

test('the intent is checked always, the websocket, timeouts and invites only where they are used', async () => {
  expect(await chat({})).toEqual([['bot_receives_members', true]]);
  const settings = { mirrorTimeouts: true };
  const found = { application: { receivesMembers: false }, timesOutMembers: false, isWatched: false, settings };
  expect(await chat(found)).toEqual([
    ['bot_receives_members', false],
    ['chat_websocket', false],
    ['bot_times_out_members', false],
  ]);
  expect(await chat({ isWatched: true })).toContainEqual(['chat_websocket', true]);
  for (const joins of [{ inviteChannelId: GUILD }, { oauthJoin: true }]) {
    expect(await chat({ settings: joins, createsInvites: false })).toContainEqual(['bot_creates_invites', false]);
    expect(await chat({ settings: joins })).toContainEqual(['bot_creates_invites', true]);
  }
});

test('a key that is disabled, or expires within a week, is a failed check', async () => {
  const validity = async (key: Partial<GameKey>) => (await game({ key }))[0];
  expect(await validity({ isValid: false })).toEqual(['game_platform_key', false]);
  expect(await validity({ expiresAt: clock.now() + 6.9 * DAY_MS })).toEqual(['game_platform_key', false]);
  expect(await validity({ expiresAt: clock.now() + 7.1 * DAY_MS })).toEqual(['game_platform_key', true]);
});

test('without a key nothing is checked, unless a setting needs one', async () => {
  expect(await game({ key: null })).toEqual([]);
  expect(await game({ key: null, settings: { pushCommands: true } })).toEqual([['game_platform_key', false]]);
});

test('names the rights that the key lacks, with the universe', async () => {
  const settings = { mirrorBansUniverseIds: [30001, 30002], pushCommands: true };
  const allows: GameKey['allows'] = (scope, operation, universe) =>
    scope === 'universe.user-restriction' && operation === 'read' && universe === 30001;
  const checks = await checksOf({ settings, key: { allows } }).ofGame(GUILD);
  expect(checks.map(({ name, isOk }) => [name, isOk])).toEqual([
    ['game_platform_key', true],
    ['game_platform_rights', false],
  ]);
  expect(checks[1]?.message).toBe(
    'The key for the game platform lacks universe.user-restriction:write for the universe 30001, universe.user-restriction:read for the universe 30002, universe.user-restriction:write for the universe 30002 and universe-messaging-service:publish.',
  );
});
