import { performance } from 'node:perf_hooks';
import pLimit from 'p-limit';
import { SharedSlots } from '#kit/downstream/slots.ts';
import { ApiError } from '#kit/errors.ts';
import type { EraseUserResponse, ExportUserResponse } from '#proto/gen/guild/common/v1/erasure.ts';
import { actingPerson } from '../audit/acting-person.ts';
import type { KeyAdmin } from '../keys.ts';
import type { Access } from './access.ts';

/** The time in milliseconds, from its start, after which an erasure calls no further service; the console calls again. */
const WORK_MS = 5_000;
/** The maximum number of passes over all services in one erasure: requests in flight may write new rows. */
const MAX_PASSES = 3;
/** The maximum number of erasures and exports at a time; each keeps the databases of all services busy. */
const MAX_CONCURRENT = 2;
/** The maximum number of erasures and exports that run or wait, in all, of one guild and of one person in all guilds. */
const MAX_ADMITTED = 12;
const MAX_OF_GUILD = 3;
const MAX_OF_PERSON = 3;
/** How long an erasure or export waits for others to end, in milliseconds. */
const MAX_WAIT_MS = 2_000;
/**
 * The time in milliseconds after which a dry run fails and an export returns its page. It starts after the wait for others
 * and includes the search for the accounts. With the wait and the last call of a service (4 s) it is shorter than the
 * deadline of the console, 15 s.
 */
const READ_MS = 8_000;
const RETRY_SECONDS = 5;

/** The accounts of a person, at least one. */
export interface PersonAccounts {
  chatId?: string | undefined;
  gameId?: number | undefined;
}

/** The erasure methods of one service. */
export interface ServiceData {
  service: string;
  eraseUser(request: PersonAccounts & { guildId: string; dryRun: boolean }): Promise<EraseUserResponse>;
  exportUser(request: PersonAccounts & { guildId: string; cursor: string }): Promise<ExportUserResponse>;
}

export interface PersonalDataOptions {
  /** All services with tables, in the order of an erasure: the service that stores the links is the last. */
  services: readonly ServiceData[];
  /** Returns the given account and the one that is linked to it. */
  findAccounts(guildId: string, accounts: PersonAccounts): Promise<PersonAccounts>;
  keys: Pick<KeyAdmin, 'recordErasure' | 'recordExport'>;
  access: Pick<Access, 'requireNotAbove'>;
}

/** A page of exported rows; the cursor is empty on the last page. */
export type ExportPage = ExportUserResponse;

/**
 * Exports and erases the data that all services have about a person in one guild. The calls are made for an acting
 * person (`actAs`).
 */
export class PersonalData {
  readonly #options: PersonalDataOptions;
  readonly #limit = pLimit(MAX_CONCURRENT);
  readonly #ofGuilds = new SharedSlots<string>(MAX_ADMITTED, MAX_OF_GUILD);
  readonly #ofPersons = new SharedSlots<string>(MAX_ADMITTED, MAX_OF_PERSON);

  constructor(options: PersonalDataOptions) {
    this.#options = options;
  }

  /**
   * Returns a page of the rows of a person, which may be empty although there are more. The first page is recorded in the
   * audit.
   */
  export(guildId: string, given: PersonAccounts, cursor: string): Promise<ExportPage> {
    return this.#limited(guildId, async () => {
      const { services, keys } = this.#options;
      const until = performance.now() + READ_MS;
      const accounts = await this.#options.findAccounts(guildId, given);
      if (cursor === '') await keys.recordExport(guildId);
      let [index, position] = readCursor(cursor);
      for (; index < services.length; index++, position = '') {
        const service = services[index] as ServiceData;
        const { rows, nextCursor } = await service.exportUser({ guildId, ...accounts, cursor: position });
        if (nextCursor !== '') return { rows, nextCursor: `${index} ${nextCursor}` };
        if (rows.length > 0 || performance.now() >= until)
          return { rows, nextCursor: index + 1 < services.length ? `${index + 1} ` : '' };
      }
      return { rows: [], nextCursor: '' };
    });
  }

  /**
   * Erases the data of a person, or counts it in a dry run. Works for a limited time: `isDone` is false if there may be
   * more. The beginning and the end are recorded in the audit. Throws ROLE_TOO_LOW for a person with a higher role, which
   * the erasure would remove, and TIMEOUT if a dry run takes too long, because a part of a count is no count.
   */
  erase(guildId: string, given: PersonAccounts, dryRun: boolean): Promise<EraseUserResponse> {
    return this.#limited(guildId, async () => {
      const until = performance.now() + (dryRun ? READ_MS : WORK_MS);
      const accounts = await this.#options.findAccounts(guildId, given);
      for (const chatId of new Set([given.chatId, accounts.chatId])) {
        if (chatId !== undefined) await this.#options.access.requireNotAbove(guildId, chatId);
      }
      if (dryRun) return this.#count({ guildId, ...accounts }, until);
      const report = { guildId, what: 'user', note: '' } as const;
      await this.#options.keys.recordErasure({ ...report, state: 'begun', removed: [] });
      const result = await this.#eraseAll({ guildId, ...accounts }, until);
      if (result.isDone) await this.#options.keys.recordErasure({ ...report, state: 'done', removed: result.tables });
      return result;
    });
  }

  async #count(request: PersonAccounts & { guildId: string }, until: number): Promise<EraseUserResponse> {
    const counted = await this.#pass({ ...request, dryRun: true }, until);
    if (!counted.isDone) throw new ApiError('TIMEOUT', { message: 'Counting the data took too long, try again later' });
    return counted;
  }

  /** Erases in passes over all services until a pass finds no rows. */
  async #eraseAll(request: PersonAccounts & { guildId: string }, until: number): Promise<EraseUserResponse> {
    const removed = new Map<string, number>();
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      const { tables, isDone } = await this.#pass({ ...request, dryRun: false }, until);
      for (const { table, rows } of tables) removed.set(table, (removed.get(table) ?? 0) + rows);
      if (!isDone || tables.length === 0) return { tables: listed(removed), isDone };
    }
    return { tables: listed(removed), isDone: false };
  }

  async #pass(
    request: PersonAccounts & { guildId: string; dryRun: boolean },
    until: number,
  ): Promise<EraseUserResponse> {
    const counts = new Map<string, number>();
    for (const service of this.#options.services) {
      for (let isDone = false; !isDone; ) {
        if (performance.now() >= until) return { tables: listed(counts), isDone: false };
        const result = await service.eraseUser(request);
        for (const { table, rows } of result.tables) counts.set(table, (counts.get(table) ?? 0) + rows);
        isDone = result.isDone;
      }
    }
    return { tables: listed(counts), isDone: true };
  }

  async #limited<Result>(guildId: string, work: () => Promise<Result>): Promise<Result> {
    const personId = actingPerson()?.id;
    if (personId === undefined) throw new Error('personal data is exported and erased only by persons');
    if (!this.#ofGuilds.take(guildId)) throw busy();
    try {
      if (!this.#ofPersons.take(personId)) throw busy();
      try {
        return await this.#whenFree(work);
      } finally {
        this.#ofPersons.release(personId);
      }
    } finally {
      this.#ofGuilds.release(guildId);
    }
  }

  /**
   * Runs `work` when few enough others run. Throws UNAVAILABLE, and never runs it, if that takes too long: the caller
   * would have given up.
   */
  #whenFree<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        reject(busy());
      }, MAX_WAIT_MS);
      void this.#limit(async () => {
        clearTimeout(timer);
        if (!isLate) await work().then(resolve, reject);
      });
    });
  }
}

const busy = () =>
  new ApiError('UNAVAILABLE', {
    message: 'The data of too many persons is being read, try again soon',
    retryAfter: RETRY_SECONDS,
  });

const listed = (counts: ReadonlyMap<string, number>) => [...counts].map(([table, rows]) => ({ table, rows }));

/** Parses the cursor of an export: the position of the service, and the cursor of that service. */
function readCursor(cursor: string): [index: number, position: string] {
  const [, index = '0', position = ''] = /^([0-9]{1,2}) (.*)$/.exec(cursor) ?? [];
  return [Number(index), position];
}
