import { withPurpose } from '#kit/context.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { endTimeoutTask, type LeasedTimeoutTask } from '../../store/timeout-tasks.ts';
import { type LinkedPlayer, readAgreement, readMute, storeAgreement } from '../../store/timeouts.ts';
import type { TimeoutTelemetry } from '../../telemetry.ts';
import { type End, nextStep, type Sides } from './decide.ts';
import type { MuteImports } from './imports.ts';

/** The outcome of changing a timeout. Every outcome except `done` is a rejection that changed nothing. */
export type TimeoutChange = 'done' | 'no_member' | 'not_permitted';

/** The timeouts of the chat platform, and the links and settings of a guild, which other services have. */
export interface TimeoutSystems {
  isWanted(guildId: string): Promise<boolean>;
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
  async follow(task: LeasedTimeoutTask): Promise<boolean> {
    await withPurpose('background', () => this.#compare(task));
    return endTimeoutTask(this.#options.database, task);
  }

  async #compare(task: LeasedTimeoutTask): Promise<void> {
    const { database, systems, imports, telemetry } = this.#options;
    const { guildId, gameId } = task;
    if (!(await systems.isWanted(guildId))) return;
    const chatId = await systems.chatIdOf(guildId, gameId);
    if (chatId === undefined) return telemetry.compared('not_linked');
    const timeout = await systems.timeoutOf(guildId, chatId);
    if (timeout === undefined) return telemetry.compared('no_member');
    const player = { guildId, gameId, chatId };
    const { now, mute } = await readMute(database, guildId, gameId);
    const sides = { mute: mute ? (mute.expiresAt?.getTime() ?? Infinity) : 0, timeout };
    const step = nextStep(sides, await readAgreement(database, player), now.getTime());
    if (step.change === 'none') {
      await storeAgreement(database, player, sides);
      return telemetry.compared('equal');
    }
    if (step.change === 'timeout') return this.#timeOut(player, sides, step.until);
    await imports.follow(task, player, step.until, mute);
    telemetry.compared(step.until === 0 ? 'unmuted' : 'muted');
  }

  async #timeOut(player: LinkedPlayer, { mute }: Sides, until: End): Promise<void> {
    const { database, systems, telemetry } = this.#options;
    const outcome = await systems.change(player.guildId, player.chatId, until);
    if (outcome !== 'done') return telemetry.rejected(player.guildId, outcome);
    await storeAgreement(database, player, { mute, timeout: until });
    telemetry.compared(until === 0 ? 'timeout_ended' : 'timed_out');
  }
}
