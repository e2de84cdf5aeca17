import { z } from 'zod';
import type { GameItem } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import { isRejection } from './responses.ts';

/** The maximum number of rows per page of an Open Cloud list; Open Cloud's default is ten. */
const PAGE_SIZE = 100;
/** The HTTP status of a request that the operator's key has no permission for. */
const FORBIDDEN = 403;
/** The maximum number of pages that are read of one list, enough for 50 users in 200 groups each. */
const MAX_PAGES = 100;

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
const membershipsSchema = z.object({
  // The response also contains `role`, which is only the highest of `roles`.
  groupMemberships: z.array(z.object({ user: userPath, roles: z.array(rolePath) })),
  nextPageToken,
});
const inventorySchema = z.object({
  inventoryItems: z.array(
    z.object({
      gamePassDetails: z.object({ gamePassId: idText }).optional(),
      badgeDetails: z.object({ badgeId: idText }).optional(),
      assetDetails: z.object({ assetId: idText }).optional(),
    }),
  ),
  nextPageToken,
});

/** A role that a user holds in a group of the game platform. */
export type HeldRole = { userId: number; groupId: number; roleId: number };

/** A client of Open Cloud, version 2, with the operator's key. Its methods throw the errors of PlatformHost. */
export class OpenCloud {
  readonly #host: PlatformHost;
  readonly #key: string;

  constructor(host: PlatformHost, key: string) {
    this.#host = host;
    this.#key = key;
  }

  /**
   * Returns all roles of up to 50 users in all groups, or `rejected` if the platform rejects the call because of a
   * user.
   */
  async heldRoles(userIds: readonly number[]): Promise<HeldRole[] | 'rejected'> {
    const filter = `user in [${userIds.map((id) => `'users/${id}'`).join(',')}]`;
    const held: HeldRole[] = [];
    for await (const page of this.#pages('groups/-/memberships', filter, 'memberships', membershipsSchema)) {
      if (page === 'rejected') return page;
      if (page === 'forbidden') throw this.#host.unexpectedResponse({ status: FORBIDDEN }, 'a rejection');
      for (const { user: userId, roles } of page.groupMemberships) {
        if (!userIds.includes(userId)) throw this.#host.unexpectedResponse({ status: 200 }, 'another user');
        held.push(...roles.map((role) => ({ userId, ...role })));
      }
    }
    return held;
  }

  /**
   * Returns those of the given items that the user owns, or `hidden` if the inventory is private or the platform
   * rejects the call.
   */
  async owned(userId: number, items: readonly GameItem[]): Promise<GameItem[] | 'hidden'> {
    const owned = new Map<string, GameItem>();
    const path = `users/${userId}/inventory-items`;
    for await (const page of this.#pages(path, itemFilter(items), 'inventory', inventorySchema)) {
      if (page === 'forbidden' || page === 'rejected') return 'hidden';
      for (const { gamePassDetails, badgeDetails, assetDetails } of page.inventoryItems) {
        const found: GameItem[] = [];
        if (gamePassDetails) found.push({ kind: 'gamepass', id: gamePassDetails.gamePassId });
        if (badgeDetails) found.push({ kind: 'badge', id: badgeDetails.badgeId });
        if (assetDetails) found.push({ kind: 'asset', id: assetDetails.assetId });
        for (const item of found) owned.set(`${item.kind} ${item.id}`, item);
      }
      // Compares the number of different items, not of rows, because a user can own an asset several times.
      if (owned.size === items.length) break;
    }
    return [...owned.values()];
  }

  /**
   * Yields the pages of a list. Yields `forbidden` instead of a page if the operator's key has no permission, and
   * `rejected` if the request itself is invalid.
   */
  async *#pages<Page extends { nextPageToken?: string }>(
    path: string,
    filter: string,
    limit: string,
    shape: z.ZodType<Page>,
  ): AsyncGenerator<Page | 'forbidden' | 'rejected'> {
    const query = `maxPageSize=${PAGE_SIZE}&filter=${encodeURIComponent(filter)}`;
    let token = '';
    for (let count = 0; count < MAX_PAGES; count++) {
      const position = token && `&pageToken=${encodeURIComponent(token)}`;
      const headers = { 'x-api-key': this.#key };
      const response = await this.#host.get(`/cloud/v2/${path}?${query}${position}`, { headers, limit });
      if (response.status === FORBIDDEN) {
        yield 'forbidden';
        return;
      }
      if (token === '' && isRejection(response)) {
        yield 'rejected';
        return;
      }
      const page = this.#host.expect(response, shape);
      yield page;
      token = page.nextPageToken ?? '';
      if (token === '') return;
      if (count === MAX_PAGES - 1) throw this.#host.unexpectedResponse(response, `more than ${MAX_PAGES} pages`);
    }
  }
}

const FILTER_FIELDS = { gamepass: 'gamePassIds', badge: 'badgeIds', asset: 'assetIds' } as const;

/** Returns a filter for Open Cloud, such as `gamePassIds=1,2;badgeIds=3`. */
function itemFilter(items: readonly GameItem[]): string {
  const idsByKind = Object.groupBy(items, ({ kind }) => kind);
  const fields = Object.entries(idsByKind).map(([kind, items]) => {
    return `${FILTER_FIELDS[kind as GameItem['kind']]}=${items.map(({ id }) => id).join(',')}`;
  });
  return fields.join(';');
}
