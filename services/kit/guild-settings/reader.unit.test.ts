import { beforeEach, expect, test } from 'vitest';
import type { GuildSettings } from '#proto/gen/guild/members/v1/settings.ts';
import { ManualClock } from '../clock.ts';
import { GuildSettingsReader } from './reader.ts';

const GUILD = '900000000000000001';

const settingsOf = (version: number): GuildSettings => ({
  syncOnLink: true,
  syncOnJoin: false,
  syncOnRankChange: false,
  mirrorBansUniverseIds: [],
  mirrorBansExcludeAlts: false,
  mirrorTimeouts: false,
  pushCommands: false,
  oauthJoin: false,
  version,
});

let clock: ManualClock;
let loads: string[];
let isDown: boolean;
let reader: GuildSettingsReader;

beforeEach(() => {
  clock = new ManualClock(0);
  loads = [];
  isDown = false;
  const load = async (guildId: string) => {
    loads.push(guildId);
    if (isDown) throw new Error('down');
    return { settings: settingsOf(loads.length) };
  };
  reader = new GuildSettingsReader({ clock, load });
});

const versionOf = async (guildId = GUILD) => (await reader.of(guildId)).version;

test('settings are read again after ten seconds', async () => {
  expect([await versionOf(), await versionOf()]).toEqual([1, 1]);
  clock.advance(9_999);
  expect(await versionOf()).toBe(1);
  clock.advance(1);
  expect(await versionOf()).toBe(2);
});

test('concurrent callers share one read of a guild', async () => {
  await Promise.all([reader.of(GUILD), reader.of(GUILD), reader.of('900000000000000002')]);
  expect(loads).toEqual([GUILD, '900000000000000002']);
});

test('while settings cannot be read, the last known ones are returned', async () => {
  await reader.of(GUILD);
  isDown = true;
  clock.advance(3600_000);
  expect(await versionOf()).toBe(1);
  isDown = false;
  expect(await versionOf()).toBe(3);
});

test('settings that were never read are not guessed', async () => {
  isDown = true;
  await expect(reader.of(GUILD)).rejects.toThrow('down');
});
