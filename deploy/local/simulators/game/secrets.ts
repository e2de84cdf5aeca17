import { generateKeyPairSync } from 'node:crypto';
import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import { refuseCloud } from './errors.ts';
import type { GameRoute } from './limits.ts';

/** An encrypted secret: X25519 public key of the sender, then the box (16 bytes longer than the value). */
const SEALED_OVERHEAD = 32 + 16;
const MAX_VALUE_BYTES = 1024;
const MAX_SECRETS = 500;

/** A secret as it was stored; `secret` is the base64 of the sealed box. */
export interface StoredSecret {
  id: string;
  secret: string;
  key_id: string;
  domain: string;
  create_time: string;
  update_time: string;
}

/** The secrets of all universes, which exist as soon as they are named. Every universe has the same key pair. */
export class Secrets {
  /** The raw X25519 keys, 32 bytes each. */
  readonly keys: { publicKey: Buffer; privateKey: Buffer };
  readonly keyId = '1200590785272263122';
  readonly #universes = new Map<string, Map<string, StoredSecret>>();

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    const raw = (text: string | undefined) => Buffer.from(text ?? '', 'base64url');
    this.keys = {
      publicKey: raw(publicKey.export({ format: 'jwk' }).x),
      privateKey: raw(privateKey.export({ format: 'jwk' }).d),
    };
  }

  of(universe: string): Map<string, StoredSecret> {
    const found = this.#universes.get(universe) ?? new Map<string, StoredSecret>();
    this.#universes.set(universe, found);
    return found;
  }
}

/** Routes of Open Cloud with which secrets of a universe are stored. Values are never returned. */
export function secretRoutes(secrets: Secrets, now: () => number): GameRoute[] {
  const base = '/cloud/v2/universes/:universe/secrets';
  const limit = 'cloud-secrets';
  const universeOf = ({ params }: Call) => secrets.of(params['universe'] ?? '');
  return [
    { method: 'GET', pattern: `${base}/public-key`, limit, handle: () => ok(publicKeyOf(secrets)) },
    { method: 'GET', pattern: base, limit, handle: (call) => list(call, universeOf(call)) },
    { method: 'POST', pattern: base, limit, handle: (call) => create(call, universeOf(call), secrets, now()) },
    {
      method: 'PATCH',
      pattern: `${base}/:secret`,
      limit,
      handle: (call) => update(call, universeOf(call), secrets, now()),
    },
  ];
}

const publicKeyOf = ({ keys, keyId }: Secrets) => ({ secret: keys.publicKey.toString('base64'), key_id: keyId });

const view = ({ secret: _value, ...rest }: StoredSecret) => rest;

function list({ query }: Call, stored: Map<string, StoredSecret>): Answer {
  const after = query.get('cursor') ?? '';
  const size = Math.min(Number(query.get('limit') ?? 100), MAX_SECRETS);
  const ids = [...stored.keys()].toSorted().filter((id) => id > after);
  const page = ids.slice(0, size);
  const nextPageCursor = ids.length > size ? (page.at(-1) ?? '') : '';
  return ok({ secrets: page.map((id) => view(stored.get(id) as StoredSecret)), nextPageCursor });
}

function create(call: Call, stored: Map<string, StoredSecret>, secrets: Secrets, now: number): Answer {
  const body = bodyOf(call);
  const id = body['id'];
  if (typeof id !== 'string' || id === '') return refuseCloud(400, 'The secret needs an id.');
  if (stored.has(id)) return refuseCloud(400, 'A secret with this id already exists.');
  if (stored.size >= MAX_SECRETS) return refuseCloud(400, 'The universe has too many secrets.');
  const time = new Date(now).toISOString();
  const created = {
    id,
    ...valueOf(body, secrets),
    domain: domainOf(body) ?? '*',
    create_time: time,
    update_time: time,
  };
  stored.set(id, created);
  return ok(view(created));
}

function update(call: Call, stored: Map<string, StoredSecret>, secrets: Secrets, now: number): Answer {
  const found = stored.get(call.params['secret'] ?? '') ?? refuseCloud(404, 'Secret not found.');
  const body = bodyOf(call);
  const time = new Date(now).toISOString();
  const changed = { ...found, ...valueOf(body, secrets), domain: domainOf(body) ?? found.domain, update_time: time };
  stored.set(found.id, changed);
  return ok(view(changed));
}

const bodyOf = (call: Call) => (call.body ?? {}) as Record<string, unknown>;
const domainOf = ({ domain }: Record<string, unknown>) => (typeof domain === 'string' ? domain : undefined);

/** The encrypted value of a request. It must have been encrypted with the universe's key, which its `key_id` names. */
function valueOf(body: Record<string, unknown>, { keyId }: Secrets): { secret: string; key_id: string } {
  const secret = body['secret'];
  if (body['key_id'] !== keyId) return refuseCloud(400, 'The key_id is not that of the public key.');
  const bytes = typeof secret === 'string' ? Buffer.from(secret, 'base64').length : 0;
  if (typeof secret !== 'string' || bytes <= SEALED_OVERHEAD || bytes > SEALED_OVERHEAD + MAX_VALUE_BYTES) {
    return refuseCloud(400, 'The secret must be the base64 of a sealed box.');
  }
  return { secret, key_id: keyId };
}
