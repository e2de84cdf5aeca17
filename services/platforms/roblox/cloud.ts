import { z } from 'zod';
import type { GameItem } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import { isRejection } from './responses.ts';

/** The most rows of a page; without being asked it has ten. */
const PAGE_SIZE = 100;
/** The status of what the key may not see. */
const REFUSED = 403;
/** Of a list: 50 users in 200 groups each. */
const MOST_PAGES = 100;

const userPath = z
  .string()
  .regex(/^users\/[0-9]+$/)
  .transform((path) => Number(path.slice('users/'.length)));
const rolePath = z
  .string()
  .regex(/^groups\/[0-9]+\/roles\/[0-9]+$/)
  .transform((path) => {
    const [, group, , role] = path.split('/');
    return { groupId: Number(group), roleId: Number(role) };
  });
const idText = z
  .string()
  .regex(/^[0-9]+$/)
  .transform(Number);

const nextPageToken = z.string().optional();
const membershipsAnswer = z.object({
  // Beside `roles` there is `role`, which is the highest of them alone.
  groupMemberships: z.array(z.object({ user: userPath, roles: z.array(rolePath) })),
  nextPageToken,
});
const inventoryAnswer = z.object({
  inventoryItems: z.array(
    z.object({
      gamePassDetails: z.object({ gamePassId: idText }).optional(),
      badgeDetails: z.object({ badgeId: idText }).optional(),
      assetDetails: z.object({ assetId: idText }).optional(),
    }),
  ),
  nextPageToken,
});

/** A role that a user holds. */
export type HeldRole = { userId: number; groupId: number; roleId: number };

/** Open Cloud, version 2, with the operator's key. Errors: those of PlatformHost. */
export class OpenCloud {
  readonly #host: PlatformHost;
  readonly #key: string;

  constructor(host: PlatformHost, key: string) {
    this.#host = host;
    this.#key = key;
  }

  /** All roles of up to 50 users, in every group; `rejected` where the platform rejects the call because of a user. */
  async heldRoles(userIds: readonly number[]): Promise<HeldRole[] | 'rejected'> {
    const filter = `user in [${userIds.map((id) => `'users/${id}'`).join(',')}]`;
    const held: HeldRole[] = [];
    for await (const page of this.#pages('groups/-/memberships', filter, 'memberships', membershipsAnswer)) {
      if (page === 'rejected') return page;
      if (page === 'refused') throw this.#host.misunderstood({ status: REFUSED }, 'a refusal');
      for (const { user: userId, roles } of page.groupMemberships) {
        if (!userIds.includes(userId)) throw this.#host.misunderstood({ status: 200 }, 'another user');
        held.push(...roles.map((role) => ({ userId, ...role })));
      }
    }
    return held;
  }

  /** Those of the items that the user owns; `hidden` where the inventory is private, or the platform rejects the call. */
  async owned(userId: number, items: readonly GameItem[]): Promise<GameItem[] | 'hidden'> {
    const owned = new Map<string, GameItem>();
    const path = `users/${userId}/inventory-items`;
    for await (const page of this.#pages(path, itemFilter(items), 'inventory', inventoryAnswer)) {
      if (page === 'refused' || page === 'rejected') return 'hidden';
      for (const { gamePassDetails, badgeDetails, assetDetails } of page.inventoryItems) {
        const found: GameItem[] = [];
        if (gamePassDetails) found.push({ kind: 'gamepass', id: gamePassDetails.gamePassId });
        if (badgeDetails) found.push({ kind: 'badge', id: badgeDetails.badgeId });
        if (assetDetails) found.push({ kind: 'asset', id: assetDetails.assetId });
        for (const item of found) owned.set(`${item.kind} ${item.id}`, item);
      }
      // An asset can be owned many times over.
      if (owned.size === items.length) break;
    }
    return [...owned.values()];
  }

  /** In place of a page `refused` where the key may not see it, `rejected` where the call is wrong in itself. */
  async *#pages<Page extends { nextPageToken?: string }>(
    path: string,
    filter: string,
    limit: string,
    shape: z.ZodType<Page>,
  ): AsyncGenerator<Page | 'refused' | 'rejected'> {
    const query = `maxPageSize=${PAGE_SIZE}&filter=${encodeURIComponent(filter)}`;
    let token = '';
    for (let count = 0; count < MOST_PAGES; count++) {
      const place = token && `&pageToken=${encodeURIComponent(token)}`;
      const headers = { 'x-api-key': this.#key };
      const answer = await this.#host.get(`/cloud/v2/${path}?${query}${place}`, { headers, limit });
      if (answer.status === REFUSED) {
        yield 'refused';
        return;
      }
      if (token === '' && isRejection(answer)) {
        yield 'rejected';
        return;
      }
      const page = this.#host.expect(answer, shape);
      yield page;
      token = page.nextPageToken ?? '';
      if (token === '') return;
      if (count === MOST_PAGES - 1) throw this.#host.misunderstood(answer, `more than ${MOST_PAGES} pages`);
    }
  }
}

const FILTER_FIELDS = { gamepass: 'gamePassIds', badge: 'badgeIds', asset: 'assetIds' } as const;

/** `gamePassIds=1,2;badgeIds=3` */
function itemFilter(items: readonly GameItem[]): string {
  const idsByKind = Object.groupBy(items, ({ kind }) => kind);
  const fields = Object.entries(idsByKind).map(([kind, items]) => {
    return `${FILTER_FIELDS[kind as GameItem['kind']]}=${items.map(({ id }) => id).join(',')}`;
  });
  return fields.join(';');
}
