import type { Environment } from '#kit/service/config.ts';
import { type Key, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { GAME_SCOPES, grantsScope } from '#proto/rest/scopes.ts';
import { type Command, CommandFailure, type Output } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { ConnectionError } from '../../errors.ts';
import { table, time } from '../../text.ts';
import {
  domainOf,
  GAME_NOTES,
  GAME_OPTIONS,
  type GameSetup,
  readGameSetup,
  withUniverseSecrets,
} from './game-setup.ts';

/** One line of the report. `fix` says what to do if the check failed. */
interface Check {
  name: string;
  ok: boolean;
  message: string;
  fix: string | null;
}

const passed = (name: string, message: string): Check => ({ name, ok: true, message, fix: null });
const failed = (name: string, message: string, fix: string): Check => ({ name, ok: false, message, fix });

/** The ID of the guild and a number. */
const KEY_ID = /^\d{17,20}-\d+$/;

/** How long the gateway may take to respond. */
const GATEWAY_TIMEOUT_MS = 5_000;

const doctor: Command = {
  name: 'keys doctor',
  usage: 'KEY_ID [--url URL] [--universe ID [--secret NAME]]',
  notes: [
    '--universe ID    also checks the secret in this universe of the game platform, with GAME_API_KEY',
    ...GAME_NOTES,
    'The exit status is 1 if a check failed.',
  ],
  argument: 'KEY_ID',
  options: { universe: { type: 'string' }, ...GAME_OPTIONS },
  run: async (input, connections) => {
    const { environment } = connections;
    const universeId = input.numericId('universe');
    const setup = readGameSetup(input, environment, false);
    const keyId = input.argument ?? '';
    if (!KEY_ID.test(keyId)) input.fault('a KEY_ID is required, as `keys list` shows it: 900000000000000001-1');
    input.check();
    const key = await findKey(connections, keyId);
    const checks = [...(key ? keyChecks(key) : [noSuchKey]), ...(setup.url ? [await gatewayCheck(setup.url)] : [])];
    if (universeId !== undefined) checks.push(await universeCheck(environment, universeId, setup));
    const output = outputOf(checks);
    if (checks.some(({ ok }) => !ok)) throw new CommandFailure(output);
    return output;
  },
};

const noSuchKey = failed('key', 'There is no such key', 'List the keys of the guild with `keys list --guild ID`');

/** Finds a key by its ID, which begins with that of its guild. */
async function findKey(connections: Connections, keyId: string): Promise<Key | undefined> {
  const [guildId = ''] = keyId.split('-');
  let cursor = '';
  do {
    const page = await connections.admin(KeyAdminServiceService, 'auth').listKeys({ guildId, limit: 0, cursor });
    const found = page.keys.find(({ id }) => id === keyId);
    if (found) return found;
    cursor = page.nextCursor;
  } while (cursor !== '');
  return undefined;
}

function keyChecks(key: Key): Check[] {
  const { revokedAt, expiresAt, ipAllowlist, lastUsedAt } = key;
  const missing = GAME_SCOPES.filter((scope) => !grantsScope(key.legacy ? null : key.scopes, scope));
  const isExpired = expiresAt !== undefined && expiresAt * 1000 <= Date.now();
  const isActive = revokedAt === undefined && !isExpired;
  return [
    isActive
      ? passed('key', 'The key is active')
      : failed(
          'key',
          `The key is ${isExpired ? 'expired' : 'revoked'}`,
          'Create another one: `keys create --for game`',
        ),
    missing.length === 0
      ? passed('scopes', 'The key has the scopes that a game server needs')
      : failed('scopes', `The key lacks ${missing.join(', ')}`, 'Add them with `keys update KEY_ID --scopes …`'),
    ipAllowlist.length === 0
      ? passed('addresses', 'The key may be used from any address')
      : failed(
          'addresses',
          'The key may be used only from some addresses, and game servers have no fixed ones',
          'Remove the list: `keys update KEY_ID --no-allow-ip`',
        ),
    lastUsedAt === undefined
      ? failed('use', 'The key was never used', 'Start a game server with it, and look at its output')
      : passed('use', `The key was last used ${time(lastUsedAt)}`),
  ];
}

/** Checks that something responds as the gateway does. Any of its responses shows that it is reached. */
async function gatewayCheck(url: string): Promise<Check> {
  const signal = AbortSignal.timeout(GATEWAY_TIMEOUT_MS);
  const response = await fetch(`${url}/api/v1/whoami`, { signal, redirect: 'manual' }).catch(() => undefined);
  const body = (await response?.json().catch(() => undefined)) as { details?: { code?: string } } | undefined;
  if (body?.details?.code === 'MISSING_API_KEY') return passed('gateway', `The gateway responds at ${url}`);
  const answer = response ? `Something else than the gateway responds at ${url}` : `Nothing responds at ${url}`;
  return failed('gateway', answer, 'Give the public address of the gateway with --url');
}

/** Checks the secret of a universe. A platform that cannot be queried is one failed check among the others. */
async function universeCheck(environment: Environment, universeId: number, setup: GameSetup): Promise<Check> {
  try {
    return await withUniverseSecrets(environment, async (secrets) =>
      secretCheck(setup, await secrets.find(universeId, setup.secret)),
    );
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    return failed('secret', `The secret could not be checked: ${error.message}`, 'Repair this, and check again');
  }
}

function secretCheck({ secret, url }: GameSetup, found: { domain?: string | null | undefined } | undefined): Check {
  const repair = 'Store a new key in it: `keys create --for game --install UNIVERSE`';
  if (!found) return failed('secret', `The universe has no secret ${secret}`, repair);
  const domain = found.domain ?? '*';
  if (url && domain !== '*' && domain !== domainOf(url)) {
    return failed('secret', `The secret ${secret} may be sent only to ${domain}, not to ${domainOf(url)}`, repair);
  }
  return passed('secret', `The universe has the secret ${secret}, for ${domain}`);
}

function outputOf(checks: readonly Check[]): Output {
  const cells = checks.map(({ name, ok, message, fix }) => [ok ? 'ok' : 'FAILED', name, message, fix ?? '']);
  return { document: { checks }, text: table(['', 'CHECK', 'RESULT', 'WHAT TO DO'], cells) };
}

export const doctorCommands: readonly Command[] = [doctor];
