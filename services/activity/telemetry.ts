import type { Quota } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { ACK_STATUSES } from '#proto/rest/activity/shapes.ts';
import type { Ack, NewCommand } from './store/commands.ts';
import type { NewSession } from './store/sessions.ts';
import type { Action, Game } from './store/staff.ts';
import type { StaffRole } from './store/staff-roles.ts';

const WAKE_UP_OUTCOMES = ['published', 'rejected', 'failed', 'dropped'] as const;

/** Metrics and log lines of the messages that wake game servers. */
export class WakeUpTelemetry {
  readonly #messages;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#messages = metrics.counterOf(
      'activity_wake_ups_total',
      'Messages that wake the game servers of a universe: accepted, rejected or failed at the game platform, or dropped',
      'outcome',
      WAKE_UP_OUTCOMES,
    );
    this.#log = log;
  }

  counted(outcome: (typeof WAKE_UP_OUTCOMES)[number]): void {
    this.#messages.inc({ outcome });
  }

  rejected(guildId: string, universeId: number): void {
    const fields = { guild_id: guildId, universe_id: universeId };
    this.#log.warn(fields, 'game platform rejected a message to a universe, will try again in ten minutes');
  }

  failed(guildId: string, error: unknown): void {
    this.counted('failed');
    this.#log.warn({ guild_id: guildId, err: error }, 'failed to wake game servers, they will fetch commands later');
  }
}

/**
 * Metrics and log lines of the activity service. Rare events are logged; frequent ones, such as heartbeats, are only
 * counted.
 */
export class ActivityTelemetry {
  readonly #enqueued;
  readonly #leased;
  readonly #acknowledged;
  readonly #heartbeats;
  readonly #batches;
  readonly #sessions;
  readonly #actions;
  readonly #quotas;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#enqueued = metrics.counter(
      'activity_commands_enqueued_total',
      'Commands that were enqueued; a command for several servers counts once for each server',
      ['type'],
    );
    this.#leased = metrics.counter(
      'activity_commands_leased_total',
      'Commands that were handed over to a server in a response, by whether it was the first attempt',
      ['attempt'],
    );
    this.#acknowledged = metrics.counterOf(
      'activity_commands_acknowledged_total',
      'Commands that a server acknowledged, by the status that it reported',
      'status',
      ACK_STATUSES,
    );
    this.#heartbeats = metrics.counter(
      'activity_server_heartbeats_total',
      'Heartbeats of game servers that were stored',
    );
    this.#batches = metrics.counter(
      'activity_heartbeat_batches_total',
      'Batches in which heartbeats of game servers were stored',
    );
    this.#sessions = metrics.counter(
      'activity_sessions_total',
      'Staff sessions that were started, resumed or ended by a request',
      ['change'],
    );
    this.#actions = metrics.counter(
      'activity_actions_total',
      'Requests to log a staff action, by whether the action was new',
      ['outcome'],
    );
    this.#quotas = metrics.counter(
      'activity_quota_rejections_total',
      'Requests that were rejected with QUOTA_EXCEEDED, by quota',
      ['quota'],
    );
    this.#log = log;
  }

  /**
   * Counts and logs a command to game servers. `actor` is the operator or the prefix of the API key that sent it;
   * undefined if it delivers a decision of the moderation service.
   */
  commandSent(guildId: string, { type, issuedBy }: NewCommand, servers: number, actor: string | undefined): void {
    this.#enqueued.inc({ type }, servers);
    this.#log.info({ guild_id: guildId, type, issued_by: issuedBy, actor, servers }, 'command enqueued');
  }

  commandCancelled(guildId: string, commandId: string, servers: number, actor: string): void {
    this.#log.info({ guild_id: guildId, command_id: commandId, servers, actor }, 'command cancelled');
  }

  /**
   * Counts a command that was handed over to a game server; `attempt` is the number of the delivery attempt, starting
   * at 1.
   */
  commandHandedOver(attempt: number): void {
    this.#leased.inc({ attempt: attempt > 1 ? 'again' : 'first' });
  }

  commandAcknowledged({ guildId, serverId, commandId, status }: Ack): void {
    this.#acknowledged.inc({ status });
    const fields = { guild_id: guildId, server_id: serverId, command_id: commandId, status };
    this.#log.info(fields, 'command acknowledged');
  }

  heartbeatsSaved(count: number): void {
    this.#heartbeats.inc({}, count);
    this.#batches.inc();
  }

  quotaExceeded(guildId: string, quota: Quota): void {
    this.#quotas.inc({ quota });
    this.#log.info({ guild_id: guildId, quota }, 'request rejected, because the guild has reached a quota');
  }

  gameRegistered(guildId: string, { universeId, placeId, pluginVersion }: Game): void {
    const fields = { guild_id: guildId, universe_id: universeId, place_id: placeId, plugin_version: pluginVersion };
    this.#log.info(fields, 'game registered');
  }

  actionLogged(guildId: string, { actionId, type }: Action, isNew: boolean): void {
    this.#actions.inc({ outcome: isNew ? 'logged' : 'repeated' });
    this.#log.info({ guild_id: guildId, action_id: actionId, type, is_new: isNew }, 'staff action logged');
  }

  staffRoleChanged(
    guildId: string,
    { chatRoleId, level, name, permissions }: StaffRole,
    actor: string,
    change: 'set' | 'removed',
  ): void {
    const fields = { guild_id: guildId, chat_role_id: chatRoleId, level, name, permissions, actor };
    this.#log.info(fields, `staff role ${change}`);
  }

  sessionStarted({ guildId, gameId, serverId }: NewSession, resumed: boolean): void {
    const change = resumed ? 'resumed' : 'started';
    this.#sessions.inc({ change });
    this.#log.info({ guild_id: guildId, game_id: gameId, server_id: serverId }, `staff session ${change}`);
  }

  sessionEnded(guildId: string, sessionId: string): void {
    this.#sessions.inc({ change: 'ended' });
    this.#log.info({ guild_id: guildId, session_id: sessionId }, 'staff session ended');
  }

  sessionLapsed(guildId: string, sessionId: string): void {
    this.#log.info(
      { guild_id: guildId, session_id: sessionId },
      'staff session ended, because the game server stopped reporting it',
    );
  }
}
