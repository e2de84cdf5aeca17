import type { Clock } from '../limits.ts';
import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { World } from '../world.ts';
import type { GameKey } from '../world-schema.ts';
import { refuse, refuseCloud } from './errors.ts';
import type { GameLimit, GameRoute } from './limits.ts';

/** The account of a key that the world does not describe. */
const DEFAULT_OWNER = 1;

/** The scope that a route needs. Routes that are not listed need a key but no scope. */
const scopes: Partial<Record<GameLimit, string>> = {
  'restriction-read': 'universe.user-restriction:read',
  'restriction-write': 'universe.user-restriction:write',
  'cloud-messages': 'universe-messaging-service:publish',
};

/** The API keys of Open Cloud. A key that the world does not describe may do everything and never expires. */
export class GameKeys {
  readonly #world: World;
  readonly #clock: Clock;

  constructor(world: World, clock: Clock) {
    this.#world = world;
    this.#clock = clock;
  }

  /** Returns the key of a request, or refuses it: 401 without a valid key, 403 if the key may not do this. */
  admit(call: Call, limit: GameLimit): string {
    const text = call.headers['x-api-key'];
    if (typeof text !== 'string' || text === '') refuse(401, 0, 'Invalid API Key');
    const key = this.#find(text);
    if (!key) return text;
    if (!key.enabled || this.#isExpired(key)) refuse(401, 0, 'Invalid API Key');
    const scope = limit === 'cloud-secrets' ? secretScope(call) : scopes[limit];
    if (scope !== undefined && !key.scopes.includes(scope)) refuseCloud(403, `The API key needs the scope ${scope}.`);
    const universe = call.params['universe'];
    if (universe !== undefined && key.universe_ids && !key.universe_ids.includes(Number(universe)))
      refuseCloud(403, 'The API key has no access to this universe.');
    return text;
  }

  /** The account that owns the key of a request. */
  ownerOf({ headers }: Call): string {
    return `users/${this.#find(headers['x-api-key'])?.owner_id ?? DEFAULT_OWNER}`;
  }

  /** What the platform tells about a key to whoever knows it. */
  introspect({ body }: Call): Answer {
    const { apiKey } = (body ?? {}) as Record<string, unknown>;
    if (typeof apiKey !== 'string' || apiKey === '') return refuse(400, 0, 'apiKey is required');
    const key = this.#find(apiKey);
    const { name, owner_id, scopes: granted, enabled, expires_at } = key ?? undescribed;
    const universeIds = key?.universe_ids?.map(String) ?? ['*'];
    return ok({
      name,
      authorizedUserId: owner_id,
      scopes: groupScopes(granted).map(([scope, operations]) => ({ name: scope, operations, universeIds })),
      enabled,
      expired: key !== undefined && this.#isExpired(key),
      ...(expires_at !== null && { expirationTimeUtc: new Date(expires_at).toISOString() }),
    });
  }

  #find(text: unknown): GameKey | undefined {
    return this.#world.data.game.keys.find(({ key }) => key === text);
  }

  #isExpired({ expires_at: expiresAt }: GameKey): boolean {
    return expiresAt !== null && Date.parse(expiresAt) <= this.#clock();
  }
}

const secretScopes = ['universe.secret:read', 'universe.secret:write'];
const secretScope = ({ method }: Call) => (method === 'GET' ? 'universe.secret:read' : 'universe.secret:write');
const undescribed = {
  name: 'Simulated key',
  owner_id: DEFAULT_OWNER,
  scopes: [...Object.values(scopes), ...secretScopes],
  enabled: true,
  expires_at: null,
};

/** The operations by scope: `a:read` and `a:write` are two operations of one scope. */
function groupScopes(granted: string[]): [string, string[]][] {
  const operations = new Map<string, string[]>();
  for (const scope of granted) {
    const [name = '', operation = ''] = scope.split(':');
    operations.set(name, [...(operations.get(name) ?? []), operation]);
  }
  return [...operations];
}

/** The route that describes a key. It needs no header, because the body names the key. */
export function keyRoutes(keys: GameKeys): GameRoute[] {
  return [{ method: 'POST', pattern: '/api-keys/v1/introspect', handle: (call) => keys.introspect(call) }];
}
