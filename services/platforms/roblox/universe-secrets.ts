import { z } from 'zod';

/** How long one call may take. */
const TIMEOUT_MS = 10_000;
const PAGE_SIZE = 500;
/** A bound for lists whose pages never end; a universe has far fewer secrets. */
const MAX_PAGES = 20;

const publicKey = z.object({ secret: z.base64(), key_id: z.string() });
const stored = z.object({ id: z.string(), domain: z.string().nullish() });
const page = z.object({ secrets: z.array(stored), nextPageCursor: z.string().nullish() });

/** A secret as the game platform lists it, without its value. */
export type UniverseSecret = z.output<typeof stored>;

/** Thrown when the game platform does not do what was requested. The message says why, and what to do. */
export class UniverseSecretsError extends Error {}

export interface UniverseSecretsOptions {
  /** The base URL of Open Cloud. */
  url: string;
  /** A key of Open Cloud with the permission `universe.secret:write` for the universe. */
  key: string;
}

/**
 * The secrets of a universe, which its game servers read with `HttpService:GetSecret`. The value is encrypted with the
 * universe's public key (a sealed box of libsodium) before it is sent, so that only the platform can read it. Source:
 * https://create.roblox.com/docs/cloud/guides/secrets-store
 */
export class UniverseSecrets {
  readonly #options: UniverseSecretsOptions;

  constructor(options: UniverseSecretsOptions) {
    this.#options = options;
  }

  /** Stores a secret that may be sent to one domain only, or replaces it. */
  async put(universeId: number, { id, value, domain }: { id: string; value: string; domain: string }): Promise<void> {
    const path = `/cloud/v2/universes/${universeId}/secrets`;
    const { secret, key_id } = expected(publicKey, await this.#call('GET', `${path}/public-key`));
    const change = { secret: await encrypt(value, secret), key_id, domain };
    const changed = await this.#call('PATCH', `${path}/${encodeURIComponent(id)}`, change, [404]);
    if (changed === undefined) await this.#call('POST', path, { id, ...change });
  }

  /** Returns a secret without its value; undefined if the universe has none with this ID. */
  async find(universeId: number, id: string): Promise<UniverseSecret | undefined> {
    let cursor = '';
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(cursor && { cursor }) });
      const { secrets, nextPageCursor } = expected(
        page,
        await this.#call('GET', `/cloud/v2/universes/${universeId}/secrets?${query.toString()}`),
      );
      const found = secrets.find((secret) => secret.id === id);
      if (found || !nextPageCursor) return found;
      cursor = nextPageCursor;
    }
    return undefined;
  }

  /** Returns the JSON of a response; undefined for one of the statuses `missing`. */
  async #call(method: string, path: string, body?: object, missing: readonly number[] = []): Promise<unknown> {
    const { url, key } = this.#options;
    const request = {
      method,
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      redirect: 'error' as const,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    };
    const response = await fetch(url + path, request).catch((error: unknown) => {
      throw new UniverseSecretsError('The game platform cannot be reached, or did not respond in time', {
        cause: error,
      });
    });
    if (missing.includes(response.status)) return undefined;
    if (!response.ok) throw new UniverseSecretsError(failureOf(response.status));
    return response.json().catch(unexpected);
  }
}

/** Returns the parsed body of a response. */
function expected<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  return parsed.success ? parsed.data : unexpected();
}

function unexpected(): never {
  throw new UniverseSecretsError('The game platform sent an unexpected response');
}

async function encrypt(value: string, publicKeyText: string): Promise<string> {
  // Loaded when it is needed, because the library takes a tenth of the time that guildctl needs to start.
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  const sealed = sodium.crypto_box_seal(value, Buffer.from(publicKeyText, 'base64'));
  return Buffer.from(sealed).toString('base64');
}

const FAILURES: Record<number, string> = {
  401: 'The game platform does not know the key in GAME_API_KEY',
  403: 'The key in GAME_API_KEY lacks the permission universe.secret:write for this universe, or does not allow this address',
  404: 'The game platform has no such universe',
  429: 'The game platform limits the calls of this key. Try again in a minute',
};

const failureOf = (status: number) => FAILURES[status] ?? `The game platform responded with status ${status}`;
