import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { type Freshness, LoadingCache } from '#kit/resilience/cache.ts';
import type { GameGroup } from '../game.ts';
import type { PlatformHost, PlatformResponse } from '../http/host.ts';
import { errorOf, nameSchema } from './responses.ts';

const TTL_MS = 60_000;
const MAX_CACHED_GROUPS = 2_000;
/** The error code with which the game platform's host for groups says "Group is invalid or does not exist." */
const UNKNOWN_GROUP = 1;

const groupSchema = z.object({ id: z.int(), name: nameSchema });
const roleSchema = z.object({ id: z.int(), name: nameSchema, rank: z.int().min(0).max(255) });
const rolesSchema = z.object({ groupId: z.int(), roles: z.array(roleSchema) });

export type GroupRole = z.output<typeof roleSchema>;

/** Reads groups and their roles from the groups host, with a cache. Both are null if there is no such group. */
export class Groups {
  readonly #host: PlatformHost;
  readonly #names: LoadingCache<string | null>;
  readonly #roles: LoadingCache<GroupRole[] | null>;

  constructor(host: PlatformHost, clock: Clock) {
    this.#host = host;
    const options = { ttlMs: TTL_MS, max: MAX_CACHED_GROUPS, clock };
    this.#names = new LoadingCache({ ...options, load: (id) => this.#loadName(Number(id)) });
    this.#roles = new LoadingCache({ ...options, load: (id) => this.#loadRoles(Number(id)) });
  }

  async group(id: number, freshness?: Freshness): Promise<GameGroup | null> {
    const [name, roles] = await Promise.all([this.#names.get(String(id)), this.roles(id, freshness)]);
    if (name === null || roles === null) return null;
    return { id, name, roles: roles.map(({ name, rank }) => ({ name, rank })) };
  }

  /** Returns the roles of a group, lowest rank first. */
  roles(id: number, freshness?: Freshness): Promise<GroupRole[] | null> {
    return this.#roles.get(String(id), freshness);
  }

  async #loadName(id: number): Promise<string | null> {
    const response = await this.#host.get(`/v1/groups/${id}`);
    if (isUnknownGroup(response)) return null;
    const group = this.#host.expect(response, groupSchema);
    if (group.id !== id) throw this.#host.unexpectedResponse(response, 'another group');
    return group.name;
  }

  async #loadRoles(id: number): Promise<GroupRole[] | null> {
    const response = await this.#host.get(`/v1/groups/${id}/roles`);
    if (isUnknownGroup(response)) return null;
    const { groupId, roles } = this.#host.expect(response, rolesSchema);
    if (groupId !== id) throw this.#host.unexpectedResponse(response, 'another group');
    return roles.sort((left, right) => left.rank - right.rank);
  }
}

function isUnknownGroup(response: PlatformResponse): boolean {
  return response.status === 400 && errorOf(response)?.code === UNKNOWN_GROUP;
}
