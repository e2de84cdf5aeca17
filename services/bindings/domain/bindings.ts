import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#kit/clock.ts';
import { ApiError, invalidRequest } from '#kit/errors.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Queryable, Transaction } from '#kit/postgres/pool.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { BindingEvents } from '../events.ts';
import * as store from '../store/bindings.ts';
import type { BindingsTelemetry } from '../telemetry.ts';
import { type Binding, MAX_BINDINGS, type NewBinding } from './binding.ts';
import { NameCache } from './names.ts';
import { type BindingNames, checkConditions, checkTargets } from './platforms.ts';
import { type RuleChange, rankFaults, withChange } from './rule-change.ts';

const GROUP_NAME_TTL_MS = 3600_000;
/**
 * The maximum number of names that are loaded from a platform concurrently. Each load takes two calls, so loads use
 * half of the concurrent calls to the platform, and requests that add role bindings get the other half.
 */
const MAX_CONCURRENT_LOADS = 5;

/** The fields of a role binding to change; undefined fields keep their values. */
export interface BindingChange extends RuleChange {
  /** The new priority; null removes the priority. */
  priority?: number | null | undefined;
  /** The new template of nicknames; null removes the template. */
  nicknameTemplate?: string | null | undefined;
}

export interface BindingsOptions<View> {
  database: Queryable;
  idempotency: Idempotency;
  game: GamePlatform;
  chat: ChatPlatform;
  clock: Clock;
  telemetry: BindingsTelemetry;
  events: BindingEvents;
  /** Returns the response for a role binding. It is stored for a client that repeats the write. */
  view: (binding: Binding, names: BindingNames) => View;
  /** The maximum time in milliseconds that a list of role bindings waits for names of roles and groups. */
  maxNamesWaitMs?: number;
}

/**
 * Lists, adds, updates and removes a guild's role bindings, each of which ties a chat role to data of the game
 * platform.
 */
export class Bindings<View = unknown> {
  readonly #options: BindingsOptions<View>;
  readonly #roleNames: NameCache<string, Map<string, string>>;
  readonly #groupNames: NameCache<number, string | null>;

  constructor(options: BindingsOptions<View>) {
    const { game, chat, clock, maxNamesWaitMs: maxWaitMs } = options;
    this.#options = options;
    const rolesOf = async (guildId: string) => new Map((await chat.roles(guildId)).map(({ id, name }) => [id, name]));
    // The TTL of role names is 0, because the connector of the chat platform caches roles itself.
    this.#roleNames = new NameCache({ load: rolesOf, ttlMs: 0, clock, maxWaitMs, maxConcurrent: MAX_CONCURRENT_LOADS });
    const groupName = async (id: number) => (await game.group(id))?.name ?? null;
    this.#groupNames = new NameCache({
      load: groupName,
      ttlMs: GROUP_NAME_TTL_MS,
      clock,
      maxWaitMs,
      maxConcurrent: MAX_CONCURRENT_LOADS,
    });
  }

  /** Returns all role bindings of a guild, ordered by priority. */
  stored(guildId: string): Promise<Binding[]> {
    return store.listBindings(this.#options.database, guildId, MAX_BINDINGS);
  }

  /** Returns all role bindings of a guild, ordered by priority, with those names of roles and groups that are known. */
  async list(guildId: string): Promise<View[]> {
    const bindings = await this.stored(guildId);
    const names = await this.#namesOf(guildId, bindings);
    return bindings.map((binding) => this.#options.view(binding, names(binding)));
  }

  /** Returns one role binding of a guild. Throws NOT_FOUND if the guild has no such binding. */
  async get(guildId: string, id: number): Promise<Binding> {
    return (await store.findBinding(this.#options.database, guildId, id)) ?? notFound();
  }

  /**
   * Adds a role binding. Throws CONFLICT if the guild has an identical binding or the maximum number of bindings, and
   * the errors of checkTargets.
   */
  async add(write: IdempotentWrite, wanted: NewBinding): Promise<WriteOutcome<View>> {
    const { idempotency, game, chat, view, events } = this.#options;
    let added: Binding | undefined;
    const outcome = await idempotency.afterPreparing(
      write,
      () => checkTargets(game, chat, write.guildId, wanted),
      async (transaction, names) => {
        added = await this.#insert(transaction, write.guildId, wanted);
        await events.added(transaction, write.guildId, added, names);
        return ok(view(added, names));
      },
    );
    if (added) this.#options.telemetry.changed('added', write.guildId, added);
    return outcome;
  }

  /**
   * Updates a role binding. Throws NOT_FOUND if the guild has no such binding, INVALID_REQUEST if the change does not
   * fit the type or rank range of the binding, CONFLICT if the guild has an identical binding, and the errors of
   * checkConditions.
   */
  async update(write: IdempotentWrite, id: number, change: BindingChange): Promise<WriteOutcome<View>> {
    const { guildId } = write;
    let updated: Binding | undefined;
    const outcome = await this.#options.idempotency.afterPreparing(
      write,
      async () => {
        const names = await this.#loadNames(guildId, id);
        if (change.conditions) await checkConditions(this.#options.game, change.conditions);
        return names;
      },
      async (transaction, names) => {
        updated = await this.#update(transaction, guildId, id, change, names);
        return ok(this.#options.view(updated, names));
      },
    );
    if (updated) this.#options.telemetry.changed('updated', guildId, updated);
    return outcome;
  }

  /** Removes a role binding of a guild. Throws NOT_FOUND if the guild has no such binding. */
  async remove(write: IdempotentWrite, id: number): Promise<WriteOutcome<{ removed: true; id: number }>> {
    const { idempotency, telemetry, events } = this.#options;
    const { guildId } = write;
    let removed: Binding | undefined;
    const outcome = await idempotency.afterPreparing(
      write,
      () => this.#loadNames(guildId, id),
      async (transaction, names) => {
        removed = (await store.deleteBinding(transaction, guildId, id)) ?? notFound();
        await events.removed(transaction, guildId, removed, names);
        return ok({ removed: true as const, id });
      },
    );
    if (removed) telemetry.changed('removed', guildId, removed);
    return outcome;
  }

  async #insert(transaction: Queryable, guildId: string, wanted: NewBinding): Promise<Binding> {
    await store.lockGuild(transaction, guildId);
    const binding = await store.insertBinding(transaction, guildId, wanted, this.#now());
    if (!binding) throw identical();
    if ((await store.countBindings(transaction, guildId)) > MAX_BINDINGS) {
      throw new ApiError('CONFLICT', {
        message: `The guild has ${MAX_BINDINGS} bindings, which is the most: remove one first`,
      });
    }
    return binding;
  }

  async #update(
    transaction: Transaction,
    guildId: string,
    id: number,
    change: BindingChange,
    names: BindingNames,
  ): Promise<Binding> {
    const binding = (await store.lockBinding(transaction, guildId, id)) ?? notFound();
    const { priority = binding.priority, nicknameTemplate = binding.nicknameTemplate } = change;
    const changed = { ...withChange(binding, change), priority, nicknameTemplate };
    const faults = rankFaults(binding, change, changed);
    if (faults.length > 0) throw invalidRequest(faults);
    if (!(await store.updateBinding(transaction, guildId, changed, this.#now()))) throw identical();
    const isChanged = !isDeepStrictEqual(changed, binding);
    const { events } = this.#options;
    if (isChanged) await events.updated(transaction, guildId, { binding: changed, before: binding }, names);
    return changed;
  }

  /**
   * Returns the names of the chat role and the group of a role binding. They are loaded before the transaction of a
   * change, because a binding never changes its role and its group. Throws NOT_FOUND if the guild has no such binding.
   */
  async #loadNames(guildId: string, id: number): Promise<BindingNames> {
    const binding = await this.get(guildId, id);
    return (await this.#namesOf(guildId, [binding]))(binding);
  }

  /** Loads the names of the chat roles and groups in role bindings; names that are not known are null. */
  async #namesOf(guildId: string, bindings: readonly Binding[]): Promise<(binding: Binding) => BindingNames> {
    const groupIds = new Set(bindings.flatMap(({ gameGroupId }) => gameGroupId ?? []));
    const [roles, groups] = await Promise.all([
      this.#roleNames.of(bindings.length > 0 ? [guildId] : []),
      this.#groupNames.of(groupIds),
    ]);
    const { telemetry } = this.#options;
    telemetry.namesMissing('group', groupIds.size - groups.size);
    if (bindings.length > 0 && !roles.has(guildId)) telemetry.namesMissing('role', bindings.length);
    return ({ chatRoleId, gameGroupId }) => ({
      role: roles.get(guildId)?.get(chatRoleId) ?? null,
      group: (gameGroupId === null ? undefined : groups.get(gameGroupId)) ?? null,
    });
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

function notFound(): never {
  throw new ApiError('NOT_FOUND', { message: 'No such binding in this guild' });
}

const identical = () => new ApiError('CONFLICT', { message: 'The guild has an identical binding already' });
