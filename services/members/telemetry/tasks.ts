import type { ApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { RoleTask } from '../store/role-tasks.ts';

interface TaskCounts {
  queued: number;
  dead: number;
  oldestSeconds: number;
}

/** What happens to role tasks: metrics, and a log line for each failure. */
export class RoleTaskEvents {
  readonly #attempts;
  readonly #log: Logger;
  #counts: TaskCounts = { queued: 0, dead: 0, oldestSeconds: 0 };

  constructor(metrics: Metrics, log: Logger) {
    this.#attempts = metrics.counterOf('members_role_task_attempts_total', 'Attempts at role tasks', 'outcome', [
      'done',
      'failed',
      'dead',
    ]);
    metrics.gauge('members_role_tasks', 'Role tasks of all guilds, counted up to 10,000', ['state'], (gauge) => {
      gauge.set({ state: 'queued' }, this.#counts.queued);
      gauge.set({ state: 'dead' }, this.#counts.dead);
    });
    metrics.gauge(
      'members_role_task_oldest_queued_seconds',
      'Time since the oldest role task that is not done was queued; 0 when there is none',
      [],
      (gauge) => gauge.set(this.#counts.oldestSeconds),
    );
    this.#log = log;
  }

  done(): void {
    this.#attempts.inc({ outcome: 'done' });
  }

  /** It is attempted again later. */
  failed(task: RoleTask, error: ApiError): void {
    this.#attempts.inc({ outcome: 'failed' });
    this.#log.warn({ ...namesOf(task), code: error.code }, 'role task failed, will retry');
  }

  /** It is not attempted again until an operator does something about it. */
  dead(task: RoleTask, error: ApiError): void {
    this.#attempts.inc({ outcome: 'dead' });
    this.#log.error({ ...namesOf(task), code: error.code }, 'role task failed for the last time and is a dead letter');
  }

  counted(counts: TaskCounts): void {
    this.#counts = counts;
  }

  /** The database could not be reached: tasks are looked for again. */
  unreachable(error: unknown): void {
    this.#log.warn({ err: error }, 'role tasks could not be read or written, will retry');
  }
}

const namesOf = ({ guildId, chatId, attempts }: RoleTask) => ({ guild_id: guildId, chat_id: chatId, attempts });
