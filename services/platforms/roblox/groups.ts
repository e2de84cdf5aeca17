import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import type { GameGroup } from '../game.ts';
import type { PlatformAnswer, PlatformHost } from '../http/host.ts';
import { givenName, refusal } from './responses.ts';

const KEPT_MS = 60_000;
const MOST_GROUPS = 2_000;
/** Of the groups host: "Group is invalid or does not exist." */
const UNKNOWN_GROUP = 1;

const groupAnswer = z.object({ id: z.int(), name: givenName });
const roleAnswer = z.object({ id: z.int(), name: givenName, rank: z.int().min(0).max(255) });
const rolesAnswer = z.object({ groupId: z.int(), roles: z.array(roleAnswer) });

export type GroupRole = z.output<typeof roleAnswer>;

/** Groups and their roles, by the groups host. Both are null where there is no such group. */
export class Groups {
  readonly #host: PlatformHost;
  readonly #names: LoadingCache<string | null>;
  readonly #roles: LoadingCache<GroupRole[] | null>;

  constructor(host: PlatformHost, clock: Clock) {
    this.#host = host;
    const options = { ttlMs: KEPT_MS, max: MOST_GROUPS, clock };
    this.#names = new LoadingCache({ ...options, load: (id) => this.#loadName(Number(id)) });
    this.#roles = new LoadingCache({ ...options, load: (id) => this.#loadRoles(Number(id)) });
  }

  async group(id: number): Promise<GameGroup | null> {
    const [name, roles] = await Promise.all([this.#names.get(String(id)), this.roles(id)]);
    if (name === null || roles === null) return null;
    return { id, name, roles: roles.map(({ name, rank }) => ({ name, rank })) };
  }

  /** From the lowest rank up. */
  roles(id: number): Promise<GroupRole[] | null> {
    return this.#roles.get(String(id));
  }

  async #loadName(id: number): Promise<string | null> {
    const answer = await this.#host.get(`/v1/groups/${id}`);
    if (isUnknownGroup(answer)) return null;
    const group = this.#host.expect(answer, groupAnswer);
    if (group.id !== id) throw this.#host.misunderstood(answer, 'another group');
    return group.name;
  }

  async #loadRoles(id: number): Promise<GroupRole[] | null> {
    const answer = await this.#host.get(`/v1/groups/${id}/roles`);
    if (isUnknownGroup(answer)) return null;
    const { groupId, roles } = this.#host.expect(answer, rolesAnswer);
    if (groupId !== id) throw this.#host.misunderstood(answer, 'another group');
    return roles.sort((left, right) => left.rank - right.rank);
  }
}

function isUnknownGroup(answer: PlatformAnswer): boolean {
  return answer.status === 400 && refusal(answer)?.code === UNKNOWN_GROUP;
}
