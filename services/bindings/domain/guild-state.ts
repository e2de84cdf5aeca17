import type { GuildCheck } from '#kit/guild-state/check.ts';
import { exactly, type GuildCount } from '#kit/guild-state/count.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { within } from '#kit/resilience/deadline.ts';
import { BotNotInGuild, type ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import { CHECK_WAIT_MS, outageCheck } from '#platforms/outage-check.ts';
import * as store from '../store/bindings.ts';
import { type Binding, MAX_BINDINGS } from './binding.ts';
import { roleChecks } from './role-checks.ts';
import { targetChecks } from './target-checks.ts';

export interface GuildStateOptions {
  database: Queryable;
  chat: ChatPlatform;
  game: GamePlatform;
}

/** Counts and checks the bindings of a guild. */
export class GuildState {
  readonly #options: GuildStateOptions;

  constructor(options: GuildStateOptions) {
    this.#options = options;
  }

  counts = async (guildId: string): Promise<GuildCount[]> => [
    exactly('bindings', await store.countBindings(this.#options.database, guildId)),
  ];

  /** Checks the roles, groups and items of the bindings. No platform is called for a guild without bindings. */
  checks = async (guildId: string): Promise<GuildCheck[]> => {
    const bindings = await store.listBindings(this.#options.database, guildId, MAX_BINDINGS);
    if (bindings.length === 0) return [];
    const checks = [this.#roleChecks(guildId, bindings), targetChecks(this.#options.game, bindings)];
    return (await Promise.all(checks)).flat();
  };

  async #roleChecks(guildId: string, bindings: readonly Binding[]): Promise<GuildCheck[]> {
    try {
      const roles = this.#options.chat.roles(guildId, { fresh: true });
      return roleChecks(bindings, await within(CHECK_WAIT_MS, roles));
    } catch (error) {
      // The members service reports a bot that is not in the guild.
      return error instanceof BotNotInGuild ? [] : [outageCheck('chat_platform', error)];
    }
  }
}
