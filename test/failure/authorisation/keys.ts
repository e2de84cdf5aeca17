import type { CreateKeyRequest } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Network } from '../../system/system.ts';
import { type Cell, isCounted, type KeyKind, KINDS } from './matrix.ts';

/** The address in the allowlist. */
const ALLOWED = '203.0.113.7';
/** Requests of one category per guild: fewer than any category allows in a window. */
const MAX_COUNTED_REQUESTS = 25;

/** The maximum number of active keys of a guild. */
const MAX_ACTIVE_KEYS = 10;

/** A key of each kind, with its guild. */
export type KindKeys = Map<KeyKind, { guildId: string; secret: string }>;

/** A guild whose keys have one fault each, and all scopes. */
export interface FaultyKeys {
  guildId: string;
  good: string;
  revoked: string;
  expired: string;
  /** Valid at one address only. */
  listed: string;
}

const guildOf = (number: number) => String(910_000_000_000_000_000n + BigInt(number));

/** The key and address for a cell of the matrix. */
export interface Ask {
  cell: Cell;
  guildId: string;
  /** Headers and query with the key, if any. */
  headers: Record<string, string>;
  query: string;
}

/** The guilds and keys of the matrix. */
export class MatrixKeys {
  readonly #kinds: KindKeys[];
  readonly #faulty: FaultyKeys;

  constructor(kinds: KindKeys[], faulty: FaultyKeys) {
    this.#kinds = kinds;
    this.#faulty = faulty;
  }

  /** The request of each cell, distributed over the guilds so that no rate limit is reached. */
  assign(all: readonly Cell[]): Ask[] {
    return spread(all).map(({ cell, guild: number }, index) => {
      const address = `198.18.${(index >> 8) & 255}.${index & 255}`;
      if (cell.state !== 'good') return { cell, guildId: this.#faulty.guildId, ...this.#faultyAsk(cell, address) };
      const key = this.#kinds[number]?.get(cell.kind);
      if (!key) throw new Error(`there is no key of the kind ${cell.kind}`);
      return {
        cell,
        guildId: key.guildId,
        headers: { 'x-api-key': key.secret, 'x-forwarded-for': address },
        query: '',
      };
    });
  }

  #faultyAsk({ state }: Cell, address: string): Pick<Ask, 'headers' | 'query'> {
    const { good, revoked, expired, listed } = this.#faulty;
    const asked = (key: string, from = address) => ({
      headers: { 'x-api-key': key, 'x-forwarded-for': from },
      query: '',
    });
    switch (state) {
      case 'missing':
        return { headers: { 'x-forwarded-for': address }, query: '' };
      case 'malformed':
        return asked(`${good.slice(0, -1)}_`);
      case 'revoked':
        return asked(revoked);
      case 'expired':
        return asked(expired);
      case 'in the query':
        return { ...asked(good), query: `api_key=${good}` };
      case 'at its address':
        return asked(listed, ALLOWED);
      case 'elsewhere':
        return asked(listed);
      case 'with its address forged':
        return asked(listed, `${ALLOWED}, ${address}`);
      default:
        return asked(good);
    }
  }
}

/** The guild of each cell. */
function spread(all: readonly Cell[]): { cell: Cell; guild: number }[] {
  const counted = new Map<string, number>();
  return all.map((cell) => {
    const category = cell.route.category ?? '';
    const count = counted.get(category) ?? 0;
    if (isCounted(cell)) counted.set(category, count + 1);
    return { cell, guild: Math.floor(count / MAX_COUNTED_REQUESTS) };
  });
}

/** Creates the keys for the cells. Resolves once the expiring ones have expired. */
export async function makeMatrixKeys(network: Network, all: readonly Cell[]): Promise<MatrixKeys> {
  const admin = network.admin();
  const make = async (guildId: string, options: Partial<CreateKeyRequest>) => {
    const request = { guildId, name: 'matrix', legacy: false, scopes: [], ipAllowlist: [], actor: 'test', ...options };
    const { key, secret } = await admin.createKey(request);
    return { id: key?.id ?? '', secret };
  };
  const guildId = guildOf(0);
  const legacy = { legacy: true };
  const expiresAt = Math.ceil(Date.now() / 1000) + 1;
  const revoked = await make(guildId, legacy);
  await admin.revokeKey({ keyId: revoked.id, actor: 'test' });
  const faulty: FaultyKeys = {
    guildId,
    good: (await make(guildId, legacy)).secret,
    revoked: revoked.secret,
    expired: (await make(guildId, { ...legacy, expiresAt })).secret,
    listed: (await make(guildId, { ...legacy, ipAllowlist: [ALLOWED] })).secret,
  };
  const keys: KindKeys[] = [];
  let guilds = 0;
  const last = Math.max(...spread(all).map(({ guild }) => guild));
  for (let number = 0; number <= last; number += 1) {
    const kinds: KindKeys = new Map();
    for (const [index, kind] of KINDS.entries()) {
      if (index % MAX_ACTIVE_KEYS === 0) guilds++;
      const scopes = kind === 'legacy' || kind === 'no scope' ? [] : [kind];
      const options = { legacy: kind === 'legacy', scopes };
      kinds.set(kind, { guildId: guildOf(guilds), secret: (await make(guildOf(guilds), options)).secret });
    }
    keys.push(kinds);
  }
  while (Date.now() <= expiresAt * 1000) await new Promise((resolve) => setTimeout(resolve, 50));
  return new MatrixKeys(keys, faulty);
}
