import type { Clock } from '#kit/clock.ts';
import type { AuditedChange } from '#kit/events/recorder.ts';
import type { EventSource } from '#kit/events/source.ts';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { ActivityEvents } from '../events.ts';
import { type CommandRef, claimExpiredCommands, findCommands } from '../store/command-reports.ts';

/**
 * The maximum number of expired commands that one transaction reports: few, because the outcome of each is counted over
 * up to 2,000 servers.
 */
const BATCH = 50;

/** A finished command, and the actor whose request finished it; undefined if the system finished it. */
export type FinishedCommand = CommandRef & { source?: EventSource | undefined };

export interface CommandReportsOptions {
  database: Database;
  clock: Clock;
  events: ActivityEvents;
}

/**
 * Reports finished commands as events. Each command is marked as finished by the one statement that finishes it, in the
 * same transaction, so that it is reported once.
 */
export class CommandReports {
  readonly #options: CommandReportsOptions;

  constructor(options: CommandReportsOptions) {
    this.#options = options;
  }

  /** Records the events of finished commands as the last step of the transaction that has marked them. */
  async record(transaction: Transaction, finished: readonly FinishedCommand[], now: Date): Promise<void> {
    if (finished.length === 0) return;
    // Several servers may have acknowledged a command in one batch.
    const byId = new Map(finished.map((command) => [keyOf(command), command]));
    const commands = await findCommands(transaction, [...byId.values()], now);
    const { events } = this.#options;
    await events.record(
      transaction,
      commands.map((command) => events.commandFinished(command, now, byId.get(keyOf(command))?.source)),
    );
  }

  /** Records that a client of the REST API has sent or cancelled a command, for the audit. */
  audit(transaction: Transaction, change: AuditedChange): Promise<void> {
    return this.#options.events.record(transaction, [change]);
  }

  /** Returns the sweep that finishes expired commands. */
  expiredCommandsSweep(): EventSweep {
    const { database, clock } = this.#options;
    return {
      name: 'expired commands',
      sweep: () =>
        database.transaction(async (transaction) => {
          const now = new Date(clock.now());
          const expired = await claimExpiredCommands(transaction, now, BATCH);
          await this.record(transaction, expired, now);
          return expired.length === BATCH;
        }),
    };
  }
}

const keyOf = ({ guildId, commandId }: CommandRef) => `${guildId} ${commandId}`;
