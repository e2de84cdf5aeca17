import { baseUrl, type Environment, readConfig } from '#kit/service/config.ts';
import { gamePlatformConfig } from '#platforms/config.ts';
import { UniverseSecrets, UniverseSecretsError } from '#platforms/roblox/universe-secrets.ts';
import { CommandFailure, type Input, type Output } from '../../command.ts';
import { ConnectionError } from '../../errors.ts';

/** The options of commands that set up an experience of the game platform. */
export const GAME_OPTIONS = { url: { type: 'string' }, secret: { type: 'string' } } as const;

export const GAME_NOTES = [
  '--url URL        the public address of the gateway, such as https://data.example.com (or GUILDCTL_URL)',
  '--secret NAME    the name of the secret in the experience; guild_data_key if omitted',
];

/** Where the game servers of an experience find the gateway and the key. */
export interface GameSetup {
  /** The public address of the gateway; undefined if it was not given. */
  url: string | undefined;
  /** The name of the secret. */
  secret: string;
}

const DEFAULT_SECRET = 'guild_data_key';
const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

const address = baseUrl('http', 'https');

/** Reads the options of GAME_OPTIONS. A missing `--url` is a fault if `needsUrl` is true. */
export function readGameSetup(input: Input, environment: Environment, needsUrl: boolean): GameSetup {
  const text = input.text('url') ?? environment['GUILDCTL_URL'];
  const url = address.optional().safeParse(text || undefined);
  if (!url.success) input.fault('--url must be the address of the gateway, such as https://data.example.com');
  else if (needsUrl && url.data === undefined) input.fault('--url is required: the public address of the gateway');
  const secret = input.text('secret') ?? DEFAULT_SECRET;
  if (!SECRET_NAME.test(secret)) input.fault('--secret must be a letter and up to 63 letters, digits and underscores');
  return { url: url.success ? url.data?.replace(/\/+$/, '') : undefined, secret };
}

/** What `keys create --for game` sets up: `universeId` is the universe in which the key is stored as a secret. */
export interface NewGame {
  setup: GameSetup;
  universeId: number | undefined;
}

/** Reads the options of `keys create` for a game; undefined for other keys, which must not have these options. */
export function readGame(input: Input, environment: Environment, isForGame: boolean): NewGame | undefined {
  if (!isForGame) {
    for (const name of ['install', 'url', 'secret'])
      if (input.text(name) !== undefined) input.fault(`--${name} requires --for game`);
    return undefined;
  }
  const universeId = input.numericId('install');
  return { universeId, setup: readGameSetup(input, environment, universeId !== undefined) };
}

export interface CreatedKey {
  guildId: string;
  key: string;
  /** The output of the command so far. */
  output: Output;
  environment: Environment;
}

/**
 * Stores a new key in the universe, if one is given, and adds to the output how game servers use the key. If the key
 * cannot be stored, the command fails, but prints the key all the same, because it is shown only once.
 */
export async function setUpGame(
  { setup, universeId }: NewGame,
  { guildId, key, output, environment }: CreatedKey,
): Promise<Output> {
  const script = scriptOf(guildId, setup);
  const domain = setup.url === undefined ? null : domainOf(setup.url);
  const describe = (line: string, installed: object | null): Output => ({
    document: { ...(output.document as object), script, installed },
    text: `${output.text}\n\n${line}\nA script in ServerScriptService, beside the module GuildData:\n\n${script}`,
  });
  const { secret } = setup;
  if (universeId === undefined || domain === null) {
    const to = domain === null ? 'the host of the gateway as its domain' : `the domain ${domain}`;
    return describe(`Store the key as the secret ${secret} of the experience, with ${to}.`, null);
  }
  try {
    await withUniverseSecrets(environment, (secrets) => secrets.put(universeId, { id: secret, value: key, domain }));
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    throw new CommandFailure(
      describe(`NOT stored in universe ${universeId}: ${error.message}. Store the key as the secret ${secret}.`, null),
    );
  }
  const installed = { universe_id: universeId, secret, domain };
  return describe(`Stored as the secret ${secret} of universe ${universeId}, for ${domain}.`, installed);
}

/** Returns the domain to which game servers may send the secret. */
export const domainOf = (url: string) => new URL(url).hostname;

/** Runs `work` with the secrets of the game platform, and reports its failures as those of a connection. */
export async function withUniverseSecrets<Result>(
  environment: Environment,
  work: (secrets: UniverseSecrets) => Promise<Result>,
): Promise<Result> {
  const { GAME_APIS_URL, GAME_API_KEY } = gamePlatformConfig;
  const config = readConfig({ GAME_APIS_URL, GAME_API_KEY }, environment);
  if (config.GAME_API_KEY === undefined) {
    throw new ConnectionError(
      'GAME_API_KEY is required: a key of Open Cloud with the permission universe.secret:write',
    );
  }
  try {
    return await work(new UniverseSecrets({ url: config.GAME_APIS_URL, key: config.GAME_API_KEY }));
  } catch (error) {
    if (error instanceof UniverseSecretsError) throw new ConnectionError(error.message);
    throw error;
  }
}

/** Returns the lines of a server script that starts the Luau module with a key that is stored as a secret. */
export function scriptOf(guildId: string, { url, secret }: GameSetup): string {
  // The module reads the secret itself: GetSecret in the script would end it with an error if the secret is missing.
  const name = secret === DEFAULT_SECRET ? '' : `\n\tsecretName = "${secret}",`;
  return `local GuildData = require(game:GetService("ServerScriptService").GuildData)

local guild = GuildData.new({
	guildId = "${guildId}",
	baseUrl = "${url ?? 'https://YOUR-GATEWAY'}",${name}
})
guild:start()`;
}
