import type { Logger } from '#kit/telemetry/log.ts';
import { countFromZero, type Metrics } from '#kit/telemetry/metrics.ts';
import { CHAT_COMMAND_NAMES, isChatCommand } from '#proto/chat/commands.ts';

/**
 * How a slash command ended. `rejected`: with a response that says why it was not carried out. `failed`: a service was down
 * for a minute. `expired`: the chat platform no longer accepts a response.
 */
const OUTCOMES = ['answered', 'rejected', 'failed', 'expired'] as const;
export type InteractionOutcome = (typeof OUTCOMES)[number];

/** A slash command, and the seconds from its acceptance to the last attempt. */
export interface EndedInteraction {
  guildId: string;
  id: string;
  command: string;
  age: number;
}

const UNKNOWN = 'unknown';

/** The metrics and log lines of slash commands. */
export class InteractionTelemetry {
  readonly #log: Logger;
  readonly #ended;
  readonly #seconds;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#ended = metrics.counter(
      'auth_interactions_total',
      'Slash commands that ended, by command and outcome; rejected = the response says why it was not carried out',
      ['command', 'outcome'],
    );
    const commands = [...CHAT_COMMAND_NAMES, UNKNOWN];
    countFromZero(
      this.#ended,
      commands.flatMap((command) => OUTCOMES.map((outcome) => ({ command, outcome }))),
    );
    this.#seconds = metrics.duration(
      'auth_interaction_wait_seconds',
      'Time from the acceptance of a slash command until the attempt that ended it began',
    );
  }

  ended({ guildId, id, command, age }: EndedInteraction, outcome: InteractionOutcome): void {
    this.#ended.inc({ command: isChatCommand(command) ? command : UNKNOWN, outcome });
    this.#seconds.observe({}, age);
    this.#log.info({ guild_id: guildId, interaction_id: id, command, outcome }, 'slash command ended');
  }

  gaveUp({ guildId, id, command }: EndedInteraction, error: unknown): void {
    const names = { guild_id: guildId, interaction_id: id, command };
    this.#log.error({ ...names, err: error }, 'slash command given up, because a service did not respond for a minute');
  }
}
