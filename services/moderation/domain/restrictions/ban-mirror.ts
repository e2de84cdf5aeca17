import { withPurpose } from '#kit/context.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import { Interrupted } from '#kit/queue/definition.ts';
import { type Restriction, type Restrictions, SubjectUnknown } from '#platforms/roblox/restrictions.ts';
import { type LeasedTask, RESTRICTION_TASKS } from '../../store/mirror-tasks.ts';
import { findUniverses, type MirroredUniverse } from '../../store/mirrored-universes.ts';
import { listPlayerBans } from '../../store/reads.ts';
import * as store from '../../store/restrictions.ts';
import { readTime } from '../../store/time.ts';
import type { MirrorTelemetry } from '../../telemetry.ts';
import type { Punishment } from '../punishment.ts';
import { decideStep, isClose, type Step } from './decide.ts';
import type { BanImports } from './imports.ts';
import { displayReason, privateReason, readMark, shortId } from './reasons.ts';
import type { BanInForce, RestrictionInForce, RestrictionScope } from './restriction-state.ts';

/** The writes that the platform allows for a player in a universe; the half second is for the way to the platform. */
const WRITES_PER_WINDOW = 2;
const WRITES_WINDOW_MS = 60_500;
/** The platform remembers the key of a write for a day; a write that is older gets a new one. */
const KEY_LIFETIME_MS = 12 * 3_600_000;
/** Seconds after which a place that did not belong to a universe is tried again. */
const FOREIGN_SECONDS = 86_400;

export interface BanMirrorOptions {
  database: Database;
  restrictions: Restrictions;
  imports: BanImports;
  newId: () => string;
  telemetry: MirrorTelemetry;
}

/** A universe, or a place of it, in which the player's ban and restriction may differ. */
interface Target extends RestrictionScope {
  excludeAlts: boolean;
  ban: Punishment | undefined;
  stored: store.StoredRestriction;
  /** The times of the last writes in the universe, in Unix milliseconds, for all targets of the universe. */
  writes: number[];
}

/** Makes the bans of a player and the restrictions on the game platform equal. */
export class BanMirror {
  readonly #options: BanMirrorOptions;

  constructor(options: BanMirrorOptions) {
    this.#options = options;
  }

  /**
   * Makes all of a player's bans and restrictions equal, and ends the task. Throws if that has failed in some scope, after
   * it has tried all scopes. Returns true if the task stays, for a later write or for a new reason.
   */
  async follow(task: LeasedTask, signal: AbortSignal): Promise<boolean> {
    const delays: number[] = [];
    const errors: unknown[] = [];
    for (const target of await this.#targets(task)) {
      if (signal.aborted) throw new Interrupted();
      const delay = await this.#settle(task, target).catch((error: unknown) => void errors.push(error));
      if (delay === 0) break;
      if (delay !== undefined) delays.push(delay);
    }
    if (errors.length > 0) throw errors[0];
    return RESTRICTION_TASKS.end(this.#options.database, task, delays.length > 0 ? Math.min(...delays) : undefined);
  }

  /** Returns the scopes in which something has changed here, or may have changed on the platform. */
  async #targets({ guildId, gameId }: LeasedTask): Promise<Target[]> {
    const { database } = this.#options;
    const universes = await findUniverses(database, guildId);
    if (universes.length === 0) return [];
    const mirrors = await store.findRestrictions(database, guildId, gameId);
    const bans = await listPlayerBans(database, guildId, gameId, store.MAX_SCOPES);
    return universes.flatMap((universe) => targetsIn(universe, bans, mirrors)).filter(hasReason);
  }

  /**
   * Makes the ban and the restriction of one scope equal. Returns the milliseconds after which to try again, if any; 0 if
   * the bans have changed, so that all targets have to be found again.
   */
  async #settle(task: LeasedTask, target: Target): Promise<number | undefined> {
    try {
      return await withPurpose('background', () => this.#compare(task, target));
    } catch (error) {
      // Other rejections are faults of the request, which a place of this universe may get too.
      if (!(error instanceof SubjectUnknown) || target.placeId === null) throw error;
      // The place belongs to another universe of the guild.
      await this.#leased(task, (transaction) => store.storeForeignPlace(transaction, task, target, FOREIGN_SECONDS));
      return undefined;
    }
  }

  async #compare(task: LeasedTask, target: Target): Promise<number | undefined> {
    const { database, restrictions, telemetry } = this.#options;
    const found = await restrictions.find({ ...target, userId: task.gameId });
    const now = (await readTime(database)).getTime();
    const restriction = inForce(found, now);
    const isOwnWrite = await this.#isOwnWrite(task, target, found);
    const ban = banInForce(target.ban, now);
    const step = decideStep({ ban, restriction, agreed: target.stored.agreed, isOwnWrite, now });
    const delay = await this.#apply(task, target, { step, found, restriction, isOwnWrite, now });
    if (delay === undefined || delay === 0) telemetry.settled(step, task.guildId, task.gameId, target);
    return delay;
  }

  async #apply(
    task: LeasedTask,
    target: Target,
    { step, found, restriction, isOwnWrite, now }: Comparison,
  ): Promise<number | undefined> {
    const banId = target.ban?.id ?? null;
    if (step === 'restrict' || step === 'release') return this.#write(task, target, { found, now });
    if (step === 'import' || step === 'lift') {
      await this.#options.imports.follow(task, target, restriction && { ...restriction, reasons: found }, target.ban);
      return 0;
    }
    await this.#leased(task, (transaction, hasNewReason) => {
      if (step === 'wait') return store.storeRead(transaction, task, target, hasNewReason);
      const writtenId = isOwnWrite ? (writeIdOf(target, found) ?? null) : target.stored.writtenId;
      const agreement = { banId: restriction ? banId : null, restriction, writtenId, origin: 'guild' } as const;
      return store.storeAgreement(transaction, task, target, agreement, hasNewReason);
    });
    return undefined;
  }

  /**
   * Runs `work` in a transaction that has locked the task; `work` gets whether the task got a new reason meanwhile. Throws
   * if the lease was lost.
   */
  #leased(task: LeasedTask, work: (transaction: Transaction, hasNewReason: boolean) => Promise<void>): Promise<void> {
    return this.#options.database.transaction(async (transaction) =>
      work(transaction, await RESTRICTION_TASKS.requireLease(transaction, task)),
    );
  }

  /**
   * Changes the restriction. Returns a delay without a change if the platform would reject the write because of earlier
   * ones.
   */
  async #write(
    task: LeasedTask,
    target: Target,
    { found, now }: Pick<Comparison, 'found' | 'now'>,
  ): Promise<number | undefined> {
    const { restrictions } = this.#options;
    const write = this.#nextWrite(target, now);
    if (write.isNew) {
      const { writes } = target;
      const delay = (writes.at(-WRITES_PER_WINDOW) ?? 0) + WRITES_WINDOW_MS - now;
      if (delay > 0) return delay;
      writes.push(now);
      await this.#leased(task, (transaction) => store.beginWrite(transaction, task, target, write));
    }
    const change = changeOf(task.guildId, target, write, found);
    const subject = { ...target, userId: task.gameId };
    const written = await restrictions.write(subject, change, { key: write.id, firstSent: write.since });
    const restriction = inForce(written, now);
    const agreement = { banId: write.banId, restriction, writtenId: write.id, origin: 'guild' } as const;
    await this.#leased(task, (transaction, hasNewReason) =>
      store.storeAgreement(transaction, task, target, agreement, hasNewReason),
    );
    return undefined;
  }

  /** Returns the write that is still open if it has the same effect, so that it is repeated with its key. */
  #nextWrite({ ban, stored: { pending } }: Target, now: number): store.PendingWrite & { isNew: boolean } {
    const banId = ban?.id ?? null;
    const endsAt = endOf(ban);
    const durationSeconds = endsAt === Infinity || !ban ? null : Math.max(1, Math.ceil((endsAt - now) / 1_000));
    const isSame =
      pending?.banId === banId &&
      now - pending.since.getTime() < KEY_LIFETIME_MS &&
      isClose((pending.durationSeconds ?? Infinity) * 1_000, (durationSeconds ?? Infinity) * 1_000);
    if (isSame) return { ...pending, isNew: false };
    return { id: this.#options.newId(), banId, durationSeconds, since: new Date(now), isNew: true };
  }

  /** True if the restriction names a write of this guild other than the last acknowledged one. */
  async #isOwnWrite({ guildId }: LeasedTask, { stored }: Target, found: Restriction): Promise<boolean> {
    const mark = readMark(found.privateReason);
    if (!mark || mark.guildId !== guildId) return false;
    if (stored.writtenId !== null && mark.writeId === shortId(stored.writtenId)) return false;
    // A database that was restored from a backup may not know the ban: then the platform decides.
    return (await store.findBans(this.#options.database, guildId, [mark.banId])).length > 0;
  }
}

interface Comparison {
  step: Step;
  found: Restriction;
  restriction: RestrictionInForce | undefined;
  isOwnWrite: boolean;
  now: number;
}

function targetsIn(
  { universeId, excludeAlts }: MirroredUniverse,
  bans: readonly Punishment[],
  mirrors: readonly store.StoredRestriction[],
): Target[] {
  const own = mirrors.filter((mirror) => mirror.universeId === universeId);
  const places = new Set([null, ...bans.map(({ placeId }) => placeId), ...own.map(({ placeId }) => placeId)]);
  // The platform counts the writes in all places of a universe together.
  const writes = own.flatMap(({ writtenAt }) => writtenAt).toSorted((one, other) => one - other);
  return [...places].map((placeId) => ({
    universeId,
    placeId,
    excludeAlts,
    ban: bans.find((ban) => ban.placeId === placeId),
    stored: own.find((mirror) => mirror.placeId === placeId) ?? { ...NEVER_MIRRORED, universeId, placeId },
    writes,
  }));
}

const NEVER_MIRRORED: Omit<store.StoredRestriction, keyof RestrictionScope> = {
  agreed: { banId: null, banEnd: undefined, restriction: null },
  writtenId: null,
  pending: undefined,
  needsRead: false,
  isForeign: false,
  writtenAt: [],
};

/** True if the ban has changed, a write is open, or the platform may have changed the restriction. */
function hasReason({ ban, stored: { agreed, pending, needsRead, isForeign } }: Target): boolean {
  if (isForeign) return false;
  return needsRead || pending !== undefined || (ban?.id ?? null) !== agreed.banId;
}

const endOf = (ban: Punishment | undefined) => ban?.expiresAt?.getTime() ?? Infinity;

function banInForce(ban: Punishment | undefined, now: number): BanInForce | undefined {
  return ban && endOf(ban) > now ? { id: ban.id, endsAt: endOf(ban) } : undefined;
}

function inForce(found: Restriction, now: number): RestrictionInForce | undefined {
  if (!found.isActive || !found.startedAt) return undefined;
  const startedAt = found.startedAt.getTime();
  const endsAt = found.durationSeconds === null ? Infinity : startedAt + found.durationSeconds * 1_000;
  return endsAt > now ? { startedAt, endsAt } : undefined;
}

/** Returns the ID of the open write that the restriction names. */
function writeIdOf({ stored: { pending } }: Target, { privateReason: reason }: Restriction): string | undefined {
  return pending && readMark(reason)?.writeId === shortId(pending.id) ? pending.id : undefined;
}

function changeOf(
  guildId: string,
  { ban, stored, excludeAlts }: Target,
  { id, durationSeconds }: store.PendingWrite,
  found: Restriction,
) {
  const banId = ban?.id ?? stored.agreed.banId ?? readMark(found.privateReason)?.banId ?? 0;
  const mark = { guildId, banId, writeId: id };
  return {
    isActive: ban !== undefined,
    durationSeconds,
    privateReason: privateReason(ban?.reason ?? 'Lifted', mark),
    displayReason: ban ? displayReason(ban.reason) : '',
    excludeAltAccounts: excludeAlts,
  };
}
