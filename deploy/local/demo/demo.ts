import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { privateFolder, writePrivately } from '../files.ts';
import { withoutOthers } from '../processes.ts';
import { call } from './call.ts';
import { makeDemoWebhook } from './webhook.ts';

export type Demo = { guild_id: string; key: string };

export type DemoOptions = {
  /** The folder in which the key is stored. */
  folder: string;
  /** The base URL of the gateway of the running system. */
  gateway: string;
  authAddress: string;
  adminSecret: string;
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

const TIMEOUT = 20_000;

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

async function createKey({ folder, authAddress, adminSecret }: DemoOptions): Promise<string> {
  const guildctl = join(import.meta.dirname, '..', '..', '..', 'services', 'cli', 'main.ts');
  const command = [guildctl, 'keys', 'create', '--guild', DEMO_GUILD, '--all-scopes', '--name', 'Demo', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, command, {
    timeout: TIMEOUT,
    env: { ...withoutOthers(process.env), GUILDCTL_AUTH: authAddress, ADMIN_SECRETS: adminSecret },
  });
  const created: unknown = JSON.parse(stdout);
  if (typeof created !== 'object' || created === null || !('key' in created) || typeof created.key !== 'string') {
    throw new Error('guildctl keys create printed no key');
  }
  writePrivately(keyFile(folder), `${created.key}\n`);
  return created.key;
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
