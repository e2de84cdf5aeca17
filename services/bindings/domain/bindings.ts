import type { Clock } from '#kit/clock.ts';
import { ApiError, type Fault, invalidRequest } from '#kit/errors.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import { type BindingView, bindingView } from '../http/views.ts';
import * as store from '../store/bindings.ts';
import type { BindingsEvents } from '../telemetry.ts';
import { type Binding, MOST_BINDINGS, type NewBinding } from './binding.ts';
import { Names } from './names.ts';
import { type BindingNames, checkTargets } from './platforms.ts';

const GROUP_NAMES_FRESH_MS = 3600_000;
/** Each takes two calls: half of what a platform is asked at once, so that whoever adds a binding finds room. */
const NAMES_AT_ONCE = 5;

/** What an update changes; what is undefined stays. */
export interface BindingChange {
  minRank: number | undefined;
  maxRank: number | undefined;
  /** null takes it away. */
  priority: number | null | undefined;
}

export interface BindingsOptions {
  database: Queryable;
  idempotency: Idempotency;
  game: GamePlatform;
  chat: ChatPlatform;
  clock: Clock;
  events: BindingsEvents;
  /** How long a list waits for names. */
  namesWaitMs?: number;
}

/** The bindings of a guild: lists them with names, adds, updates and removes them. */
export class Bindings {
  readonly #options: BindingsOptions;
  readonly #roleNames: Names<string, Map<string, string>>;
  readonly #groupNames: Names<number, string | null>;

  constructor(options: BindingsOptions) {
    const { game, chat, clock, namesWaitMs: waitMs } = options;
    this.#options = options;
    const rolesOf = async (guildId: string) => new Map((await chat.roles(guildId)).map(({ id, name }) => [id, name]));
    // The connector remembers roles itself, for as long as they may be old.
    this.#roleNames = new Names({ load: rolesOf, freshMs: 0, clock, waitMs, atOnce: NAMES_AT_ONCE });
    const groupName = async (id: number) => (await game.group(id))?.name ?? null;
    this.#groupNames = new Names({
      load: groupName,
      freshMs: GROUP_NAMES_FRESH_MS,
      clock,
      waitMs,
      atOnce: NAMES_AT_ONCE,
    });
  }

  /** All of them, in order, as stored. */
  stored(guildId: string): Promise<Binding[]> {
    return store.listBindings(this.#options.database, guildId, MOST_BINDINGS);
  }

  /** All of them, in order, with the names that are known. */
  async list(guildId: string): Promise<BindingView[]> {
    const bindings = await this.stored(guildId);
    const names = await this.#namesOf(guildId, bindings);
    return bindings.map((binding) => bindingView(binding, names(binding)));
  }

  /** The binding; NOT_FOUND when the guild has no such one. */
  async get(guildId: string, id: number): Promise<Binding> {
    return (await store.findBinding(this.#options.database, guildId, id)) ?? notFound();
  }

  /** CONFLICT when there is an identical one, or 500 already; else the errors of checkTargets. */
  async add(write: RepeatableWrite, wanted: NewBinding): Promise<WriteOutcome<BindingView>> {
    const { idempotency, game, chat } = this.#options;
    let added: Binding | undefined;
    const outcome = await idempotency.afterPreparing(
      write,
      () => checkTargets(game, chat, write.guildId, wanted),
      async (transaction, names) => {
        added = await this.#insert(transaction, write.guildId, wanted);
        return ok(bindingView(added, names));
      },
    );
    if (added) this.#options.events.changed('added', write.guildId, added);
    return outcome;
  }

  /** NOT_FOUND, INVALID_REQUEST where the change does not fit the binding, CONFLICT where it makes it identical. */
  async update(write: RepeatableWrite, id: number, change: BindingChange): Promise<WriteOutcome<BindingView>> {
    const { guildId } = write;
    let updated: Binding | undefined;
    const outcome = await this.#options.idempotency.afterPreparing(
      write,
      async () => {
        // Role and group of a binding never change.
        const binding = await this.get(guildId, id);
        return (await this.#namesOf(guildId, [binding]))(binding);
      },
      async (transaction, names) => {
        updated = await this.#update(transaction, guildId, id, change);
        return ok(bindingView(updated, names));
      },
    );
    if (updated) this.#options.events.changed('updated', guildId, updated);
    return outcome;
  }

  /** NOT_FOUND when the guild has no such binding. */
  async remove(write: RepeatableWrite, id: number): Promise<WriteOutcome<{ removed: true; id: number }>> {
    const { idempotency, events } = this.#options;
    let removed: Binding | undefined;
    const outcome = await idempotency.inTransaction(write, async (transaction) => {
      removed = (await store.deleteBinding(transaction, write.guildId, id)) ?? notFound();
      return ok({ removed: true as const, id });
    });
    if (removed) events.changed('removed', write.guildId, removed);
    return outcome;
  }

  async #insert(transaction: Queryable, guildId: string, wanted: NewBinding): Promise<Binding> {
    await store.lockGuild(transaction, guildId);
    const binding = await store.insertBinding(transaction, guildId, wanted, this.#now());
    if (!binding) throw identical();
    if ((await store.countBindings(transaction, guildId)) > MOST_BINDINGS) {
      throw new ApiError('CONFLICT', {
        message: `The guild has ${MOST_BINDINGS} bindings, which is the most: remove one first`,
      });
    }
    return binding;
  }

  async #update(transaction: Queryable, guildId: string, id: number, change: BindingChange): Promise<Binding> {
    const binding = (await store.lockBinding(transaction, guildId, id)) ?? notFound();
    const changed = {
      ...binding,
      minRank: change.minRank ?? binding.minRank,
      maxRank: change.maxRank ?? binding.maxRank,
      priority: change.priority === undefined ? binding.priority : change.priority,
    };
    const faults = faultsOf(binding, change, changed);
    if (faults.length > 0) throw invalidRequest(faults);
    if (!(await store.updateBinding(transaction, guildId, changed, this.#now()))) throw identical();
    return changed;
  }

  /** What the names of these bindings are, as far as the platforms tell. */
  async #namesOf(guildId: string, bindings: readonly Binding[]): Promise<(binding: Binding) => BindingNames> {
    const groupIds = new Set(bindings.flatMap(({ gameGroupId }) => gameGroupId ?? []));
    const [roles, groups] = await Promise.all([
      this.#roleNames.of(bindings.length > 0 ? [guildId] : []),
      this.#groupNames.of(groupIds),
    ]);
    const { events } = this.#options;
    events.namesMissing('group', groupIds.size - groups.size);
    if (bindings.length > 0 && !roles.has(guildId)) events.namesMissing('role', bindings.length);
    return ({ chatRoleId, gameGroupId }) => ({
      role: roles.get(guildId)?.get(chatRoleId) ?? null,
      group: (gameGroupId === null ? undefined : groups.get(gameGroupId)) ?? null,
    });
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

/** What is wrong with a change for the binding as it is stored now. */
function faultsOf(binding: Binding, { minRank, maxRank }: BindingChange, changed: Binding): Fault[] {
  const given = [minRank === undefined ? [] : 'min_rank', maxRank === undefined ? [] : 'max_rank'].flat();
  if (binding.type !== 'group_rank') {
    return given.map((field) => ({ path: `body.${field}`, message: `is not for a binding of type ${binding.type}` }));
  }
  if ((changed.maxRank ?? 0) >= (changed.minRank ?? 0)) return [];
  return maxRank === undefined
    ? [{ path: 'body.min_rank', message: `must be at most the max_rank of ${binding.maxRank}` }]
    : [{ path: 'body.max_rank', message: `must be at least the min_rank of ${changed.minRank}` }];
}

function notFound(): never {
  throw new ApiError('NOT_FOUND', { message: 'No such binding in this guild' });
}

const identical = () => new ApiError('CONFLICT', { message: 'The guild has an identical binding already' });
