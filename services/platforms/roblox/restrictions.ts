import { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import type { HostResponse, PlatformHost } from '../http/host.ts';
import { isRejection } from './responses.ts';

/** The number of restrictions or log entries in a page. */
const PAGE_SIZE = 100;
const DENIED = [401, 403];
/** The maximum length of the platform's own words in an error message. */
const MAX_REASON = 200;

const path = z.string().regex(/^universes\/[0-9]+(?:\/places\/[0-9]+)?\/user-restrictions\/[0-9]+$/);
const numberIn = (collection: string) =>
  z
    .string()
    .regex(new RegExp(`^${collection}/[0-9]+$`))
    .transform((text) => Number(text.slice(collection.length + 1)));
const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
/** Whole seconds; the platform's format also allows fractions, which are cut off. */
const seconds = z
  .string()
  .regex(/^[0-9]{1,15}(?:\.[0-9]+)?s$/)
  .transform((text) => Math.trunc(Number(text.slice(0, -1))));

const terms = z.object({
  active: z.boolean(),
  startTime: time.nullish(),
  duration: seconds.nullish(),
  privateReason: z.string().nullish(),
  displayReason: z.string().nullish(),
});
const joinRestriction = terms.extend({ inherited: z.boolean().nullish() });
const restrictionSchema = z.object({ path, gameJoinRestriction: joinRestriction });
const listSchema = z.object({
  userRestrictions: z.array(restrictionSchema).default([]),
  nextPageToken: z.string().nullish(),
});
const logSchema = terms.extend({
  user: numberIn('users'),
  // Empty or missing for a change in the whole universe.
  place: z.union([z.literal('').transform(() => null), numberIn('places')]).nullish(),
  createTime: time,
});
const rejectionSchema = z.object({ message: z.string() });
const logsSchema = z.object({ logs: z.array(logSchema).default([]), nextPageToken: z.string().nullish() });

/** Whose restriction: of a user in a whole universe (`placeId` null) or in one of its places. */
export interface RestrictionSubject {
  universeId: number;
  placeId: number | null;
  userId: number;
}

/** Whether and why a user cannot join a universe or a place. */
export interface Restriction {
  isActive: boolean;
  /** Null for a user who was never restricted. */
  startedAt: Date | null;
  /** Null if the restriction is permanent. */
  durationSeconds: number | null;
  /** Only moderators see the private reason. */
  privateReason: string;
  displayReason: string;
}

/** A restriction in a list. */
export type ListedRestriction = Restriction & Pick<RestrictionSubject, 'placeId' | 'userId'>;

/** A change of a restriction in the platform's log. */
export type LoggedRestriction = ListedRestriction & { createdAt: Date };

export interface Page<Item> {
  items: Item[];
  /** The token of the next page; undefined on the last page. */
  next: string | undefined;
}

/** A new state of a restriction. */
export interface RestrictionChange {
  isActive: boolean;
  durationSeconds: number | null;
  privateReason: string;
  displayReason: string;
  excludeAltAccounts: boolean;
}

/** Identifies a write, so that the platform applies a repeated one once. */
export interface WriteId {
  key: string;
  firstSent: Date;
}

/**
 * The bans that the game platform itself enforces (user restrictions of Open Cloud). Methods throw NOT_APPLICABLE if the
 * key lacks the permission, `SubjectUnknown` if the platform knows no such universe, place or user, `RequestRejected` if
 * it rejects the request otherwise, and else the errors of PlatformHost.
 */
export class Restrictions {
  readonly #host: PlatformHost;
  readonly #key: string;

  constructor(host: PlatformHost, key: string) {
    this.#host = host;
    this.#key = key;
  }

  /** Returns the user's restriction in the universe or in the place itself. */
  async find(subject: RestrictionSubject): Promise<Restriction> {
    const response = await this.#call(subject.universeId, 'read', pathOf(subject));
    const { gameJoinRestriction } = this.#host.expect(response, restrictionSchema);
    return ownRestriction(gameJoinRestriction);
  }

  /** Replaces the user's restriction, and returns the new one. */
  async write(
    subject: RestrictionSubject,
    change: RestrictionChange,
    { key, firstSent }: WriteId,
  ): Promise<Restriction> {
    const { isActive: active, durationSeconds, ...rest } = change;
    const query = new URLSearchParams({
      updateMask: 'gameJoinRestriction',
      'idempotencyKey.key': key,
      'idempotencyKey.firstSent': firstSent.toISOString(),
    });
    const duration = durationSeconds === null ? {} : { duration: `${durationSeconds}s` };
    const body = { gameJoinRestriction: { active, ...duration, ...rest } };
    const response = await this.#call(subject.universeId, 'write', `${pathOf(subject)}?${query.toString()}`, body);
    return ownRestriction(this.#host.expect(response, restrictionSchema).gameJoinRestriction);
  }

  /** Returns a page of everybody who was ever restricted in the universe, or in the place itself. */
  async list(universeId: number, placeId: number | null, token: string | undefined): Promise<Page<ListedRestriction>> {
    const base = pathOf({ universeId, placeId });
    const response = await this.#call(universeId, 'read', `${base}?${pageQuery(token)}`);
    const { userRestrictions, nextPageToken } = this.#host.expect(response, listSchema);
    const own = userRestrictions.filter(({ gameJoinRestriction }) => !gameJoinRestriction.inherited);
    const items = own.map(({ path: name, gameJoinRestriction }) => ({
      placeId,
      userId: Number(name.slice(name.lastIndexOf('/') + 1)),
      ...restrictionOf(gameJoinRestriction),
    }));
    return { items, next: nextPageToken || undefined };
  }

  /** Returns a page of the changes of restrictions in a universe and its places, the newest first. */
  async logs(universeId: number, token: string | undefined): Promise<Page<LoggedRestriction>> {
    const base = pathOf({ universeId, placeId: null });
    const response = await this.#call(universeId, 'read', `${base}:listLogs?${pageQuery(token)}`);
    const { logs, nextPageToken } = this.#host.expect(response, logsSchema);
    const items = logs.map(({ user, place, createTime, ...rest }) => ({
      placeId: place ?? null,
      userId: user,
      createdAt: createTime,
      ...restrictionOf(rest),
    }));
    return { items, next: nextPageToken || undefined };
  }

  async #call(universeId: number, access: 'read' | 'write', url: string, body?: object): Promise<HostResponse> {
    const response = await this.#host.call(url, {
      method: body ? 'PATCH' : 'GET',
      headers: { 'x-api-key': this.#key },
      limit: `restriction-${access} ${universeId}`,
      ...(body && { body }),
    });
    if (DENIED.includes(response.status)) throw denied(universeId);
    // A conflict with another write passes, and says nothing about the player or the place.
    if (response.status === 409)
      throw new ApiError('UNAVAILABLE', { message: 'Another write of the restriction runs' });
    if (response.status === 404 && isRejection(response)) throw new SubjectUnknown(universeId);
    if (isRejection(response)) throw new RequestRejected(response);
    return response;
  }
}

/** Thrown if the game platform knows no such universe, place or user. */
export class SubjectUnknown extends ApiError {
  constructor(universeId: number) {
    super('NOT_APPLICABLE', {
      message: `The game platform knows no such player or place in universe ${universeId}`,
    });
  }
}

/** Thrown if the game platform rejects a request for another reason, such as its format or a page token. */
export class RequestRejected extends ApiError {
  constructor({ status, body }: HostResponse) {
    const reason = rejectionSchema.safeParse(body).data?.message.slice(0, MAX_REASON) ?? 'without a reason';
    super('PLATFORM_ERROR', { message: `The game platform rejects the request with ${status}: ${reason}` });
  }
}

const NEVER_RESTRICTED: Restriction = {
  isActive: false,
  startedAt: null,
  durationSeconds: null,
  privateReason: '',
  displayReason: '',
};

/** Returns the restriction of the place itself: without one, the platform shows that of the universe. */
const ownRestriction = ({ inherited, ...own }: z.output<typeof joinRestriction>): Restriction =>
  inherited ? NEVER_RESTRICTED : restrictionOf(own);

const restrictionOf = ({ active, startTime, duration, privateReason, displayReason }: z.output<typeof terms>) => ({
  isActive: active,
  startedAt: startTime ?? null,
  durationSeconds: duration ?? null,
  privateReason: privateReason ?? '',
  displayReason: displayReason ?? '',
});

function pathOf({ universeId, placeId, userId }: Omit<RestrictionSubject, 'userId'> & { userId?: number }): string {
  const place = placeId === null ? '' : `/places/${placeId}`;
  const user = userId === undefined ? '' : `/${userId}`;
  return `/cloud/v2/universes/${universeId}${place}/user-restrictions${user}`;
}

const pageQuery = (token: string | undefined) =>
  `maxPageSize=${PAGE_SIZE}${token === undefined ? '' : `&pageToken=${encodeURIComponent(token)}`}`;

const denied = (universeId: number) =>
  new ApiError('NOT_APPLICABLE', {
    message: `GAME_API_KEY lacks the permissions universe.user-restriction:read and :write for universe ${universeId}, or does not allow this address`,
  });
