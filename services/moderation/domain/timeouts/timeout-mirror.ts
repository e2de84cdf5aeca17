import { withPurpose } from '#kit/context.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { type LeasedTask, TIMEOUT_TASKS } from '../../store/mirror-tasks.ts';
import { findTimeoutGuilds } from '../../store/timeout-guilds.ts';
import { type LinkedPlayer, readAgreement, readMute, storeAgreement } from '../../store/timeouts.ts';
import type { TimeoutTelemetry } from '../../telemetry.ts';
import { type End, nextStep, type Sides } from './decide.ts';
import type { MuteImports } from './imports.ts';

/** The outcome of changing a timeout. Every outcome except `done` is a rejection that changed nothing. */
export type TimeoutChange = 'done' | 'no_member' | 'not_permitted';

/** The timeouts of the chat platform, and the links of a guild, which other services have. */
export interface TimeoutSystems {
  /** Returns the chat account that is linked with a player; undefined if none is. */
  chatIdOf(guildId: string, gameId: number): Promise<string | undefined>;
  /** Returns the end of a member's timeout; undefined if the account is not in the guild. */
  timeoutOf(guildId: string, chatId: string): Promise<End | undefined>;
  /** Times a member out; 0 ends the timeout. */
  change(guildId: string, chatId: string, until: End): Promise<TimeoutChange>;
}

export interface TimeoutMirrorOptions {
  database: Database;
  systems: TimeoutSystems;
  imports: MuteImports;
  telemetry: TimeoutTelemetry;
}

/** Makes the mutes of players and the timeouts of their chat accounts equal. */
export class TimeoutMirror {
  readonly #options: TimeoutMirrorOptions;

  constructor(options: TimeoutMirrorOptions) {
    this.#options = options;
  }

  /** Does a player's task. Returns true if there is a new reason for it, so that it is due again. */
  async follow(task: LeasedTask): Promise<boolean> {
    await withPurpose('background', () => this.#compare(task));
    return TIMEOUT_TASKS.end(this.#options.database, task);
  }

  async #compare(task: LeasedTask): Promise<void> {
    const { database, systems, imports, telemetry } = this.#options;
    const { guildId, gameId } = task;
    if ((await findTimeoutGuilds(database, [guildId])).size === 0) return;
    const chatId = await systems.chatIdOf(guildId, gameId);
    if (chatId === undefined) return telemetry.compared('not_linked');
    const timeout = await systems.timeoutOf(guildId, chatId);
    if (timeout === undefined) return telemetry.compared('no_member');
    const player = { guildId, gameId, chatId };
    const { now, mute } = await readMute(database, guildId, gameId);
    const sides = { mute: mute ? (mute.expiresAt?.getTime() ?? Infinity) : 0, timeout };
    const step = nextStep(sides, await readAgreement(database, player), now.getTime());
    if (step.change === 'none') {
      await this.#agree(task, player, sides);
      return telemetry.compared('equal');
    }
    if (step.change === 'timeout') return this.#timeOut(task, player, { mute: sides.mute, timeout: step.until });
    await imports.follow(task, player, step.until, mute);
    telemetry.compared(step.until === 0 ? 'unmuted' : 'muted');
  }

  async #timeOut(task: LeasedTask, player: LinkedPlayer, sides: Sides): Promise<void> {
    const { systems, telemetry } = this.#options;
    const outcome = await systems.change(player.guildId, player.chatId, sides.timeout);
    if (outcome !== 'done') return telemetry.rejected(player.guildId, outcome);
    await this.#agree(task, player, sides);
    telemetry.compared(sides.timeout === 0 ? 'timeout_ended' : 'timed_out');
  }

  /** Stores that both are equal. Throws if the lease of the task was lost: another process may know better. */
  #agree(task: LeasedTask, player: LinkedPlayer, sides: Sides): Promise<void> {
    return this.#options.database.transaction(async (transaction) => {
      await TIMEOUT_TASKS.requireLease(transaction, task);
      await storeAgreement(transaction, player, sides);
    });
  }
}
