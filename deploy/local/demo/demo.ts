import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateFolder, writePrivately } from '../files.ts';
import { type Operator, runGuildctl } from '../guildctl.ts';
import { call } from './call.ts';
import { makeDemoWebhook } from './webhook.ts';

export type Demo = { guild_id: string; key: string };

export type DemoOptions = {
  /** The folder in which the key is stored. */
  folder: string;
  /** The base URL of the gateway of the running system. */
  gateway: string;
  operator: Operator;
  /** The base URL of the simulated receiver of webhooks. */
  receiver: string;
};

/** The guild in the simulators' demo world. */
export const DEMO_GUILD = '900000000000000001';

/** Accounts of the demo world that are linked, so that a first lookup finds somebody. */
export const DEMO_LINKS = [
  { chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' },
  { chat_id: '920000000000000002', game_id: 7002, game_username: 'BrunoSails' },
  { chat_id: '920000000000000003', game_id: 7003, game_username: 'ChiaraKnots' },
] as const;

/** Creates the demo guild's key, links and webhook the first time, and uses them again later. */
export async function makeDemo(options: DemoOptions): Promise<Demo> {
  const key = (await storedKey(options)) ?? (await createKey(options));
  await Promise.all([
    ...DEMO_LINKS.map((link) => createLink(options.gateway, key, link)),
    makeDemoWebhook({ ...options, guildId: DEMO_GUILD, key }),
  ]);
  return { guild_id: DEMO_GUILD, key };
}

/** The key of an earlier start, if the system still accepts it. */
async function storedKey({ folder, gateway }: DemoOptions): Promise<string | undefined> {
  const file = keyFile(folder);
  if (!existsSync(file)) return undefined;
  const key = readFileSync(file, 'utf8').trim();
  const { status } = await call(`${gateway}/api/v1/whoami`, { key });
  if (status === 200) return key;
  if (status === 401) return undefined;
  throw new Error(`The gateway responded with ${status} to the demo key`);
}

async function createKey({ folder, operator }: DemoOptions): Promise<string> {
  const command = ['keys', 'create', '--guild', DEMO_GUILD, '--all-scopes', '--name', 'Demo'];
  const key = await runGuildctl(command, 'key', operator);
  writePrivately(keyFile(folder), `${key}\n`);
  return key;
}

async function createLink(gateway: string, key: string, link: (typeof DEMO_LINKS)[number]): Promise<void> {
  const body = { guild_id: DEMO_GUILD, ...link };
  const { status, text } = await call(`${gateway}/api/v1/verification/link`, { key, body });
  // 409: an earlier start has created the link.
  if (status !== 201 && status !== 409) throw new Error(`The demo link could not be created: ${status} ${text}`);
}

/** Returns the file with the key. Creates its folder, which is missing when the operator has set all secrets. */
function keyFile(folder: string): string {
  return join(privateFolder(join(folder, 'secrets')), 'demo-key');
}
