import type { AttemptEnd, QueueStats } from '#kit/queue/definition.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { RoleTaskCause } from '../store/role-tasks.ts';
import type { MemberName } from '../store/roles.ts';

type AttemptedTask = MemberName & { attempts: number; cause: RoleTaskCause };

/** Metrics of role tasks (role updates of single members), and a log line for each failure. */
export class RoleTaskTelemetry {
  readonly #attempts;
  readonly #durations;
  readonly #log: Logger;
  #stats: QueueStats = { queued: 0, dead: 0, oldestSeconds: null };

  constructor(metrics: Metrics, log: Logger) {
    this.#attempts = metrics.counterOf(
      'members_role_task_attempts_total',
      'Attempts of this process to synchronise the roles of a member after a change of link, membership or rank, by outcome',
      'outcome',
      ['done', 'failed', 'dead'],
    );
    this.#durations = metrics.duration(
      'members_role_task_duration_seconds',
      'Time from the change of link, membership or rank to the end of the role update that it made necessary',
      ['cause'],
    );
    metrics.gauge(
      'members_role_tasks',
      'Members whose roles must be updated after a change of link, membership or rank, by state (queued, or dead letter), counted up to 10,000',
      ['state'],
      (gauge) => {
        gauge.set({ state: 'queued' }, this.#stats.queued);
        gauge.set({ state: 'dead' }, this.#stats.dead);
      },
    );
    metrics.gauge(
      'members_role_task_oldest_queued_seconds',
      'Time since the oldest unfinished role update of a member was queued; 0 when there is none',
      [],
      (gauge) => gauge.set(Math.max(0, this.#stats.oldestSeconds ?? 0)),
    );
    this.#log = log;
  }

  /** Counts and logs how an attempt at a role task (a role update of one member) ended. */
  settled({ guildId, chatId, attempts, cause }: AttemptedTask, { outcome, error }: AttemptEnd): void {
    const line = { guild_id: guildId, chat_id: chatId, attempts, cause, code: error?.code };
    // The other process counts and logs how it ends.
    if (outcome === 'lost')
      return this.#log.warn(
        line,
        'role update of a member is continued by another process, because its lease had ended',
      );
    if (outcome === 'dead') {
      this.#attempts.inc({ outcome: 'dead' });
      this.#log.error(line, 'role update of a member failed for the last time and became a dead letter');
    } else if (error) {
      this.#attempts.inc({ outcome: 'failed' });
      this.#log.warn(line, 'role update of a member failed, will retry');
    } else if (outcome !== 'released') this.#attempts.inc({ outcome: 'done' });
  }

  /** Records the seconds from the change that made a role update necessary to the end of the role update. */
  updated(cause: RoleTaskCause, seconds: number): void {
    this.#durations.observe({ cause }, seconds);
  }

  /** Stores the counts of the role tasks of all guilds for the gauges. */
  statsRead(stats: QueueStats): void {
    this.#stats = stats;
  }
}
