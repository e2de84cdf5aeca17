import type { Quota } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Ack, NewCommand } from './store/commands.ts';
import type { NewSession } from './store/sessions.ts';
import type { Action, Game } from './store/staff.ts';
import type { StaffRole } from './store/staff-roles.ts';

/** What happens on game servers: a counter for each, and a line in the log for what is rare enough. */
export class ActivityEvents {
  readonly #enqueued;
  readonly #handedOver;
  readonly #acknowledged;
  readonly #heartbeats;
  readonly #batches;
  readonly #sessions;
  readonly #actions;
  readonly #quotas;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#enqueued = metrics.counter('activity_commands_enqueued_total', 'Commands sent, counted for each server', [
      'type',
    ]);
    this.#handedOver = metrics.counter('activity_commands_leased_total', 'Commands handed over', ['attempt']);
    this.#acknowledged = metrics.counter('activity_commands_acknowledged_total', 'Commands acknowledged', ['status']);
    this.#heartbeats = metrics.counter('activity_server_heartbeats_total', 'Heartbeats of game servers');
    this.#batches = metrics.counter('activity_heartbeat_batches_total', 'Batches in which heartbeats were written');
    this.#sessions = metrics.counter('activity_sessions_total', 'Staff sessions', ['change']);
    this.#actions = metrics.counter('activity_actions_total', 'Actions logged, and told again', ['outcome']);
    this.#quotas = metrics.counter('activity_quota_rejections_total', 'Requests rejected because of a quota', [
      'quota',
    ]);
    this.#log = log;
  }

  /** `actor`: the operator who sent it; a decision of moderation has none. */
  commandSent(guildId: string, { type, issuedBy }: NewCommand, servers: number, actor: string | undefined): void {
    this.#enqueued.inc({ type }, servers);
    this.#log.info({ guild_id: guildId, type, issued_by: issuedBy, actor, servers }, 'command sent');
  }

  commandCancelled(guildId: string, commandId: string, servers: number, actor: string): void {
    this.#log.info({ guild_id: guildId, command_id: commandId, servers, actor }, 'command cancelled');
  }

  /** `attempt` from 1. */
  commandHandedOver(attempt: number): void {
    this.#handedOver.inc({ attempt: attempt > 1 ? 'again' : 'first' });
  }

  commandAcknowledged({ guildId, serverId, commandId, status }: Ack): void {
    this.#acknowledged.inc({ status });
    const line = { guild_id: guildId, server_id: serverId, command_id: commandId, status };
    this.#log.info(line, 'a command was acknowledged');
  }

  heartbeatsSaved(count: number): void {
    this.#heartbeats.inc({}, count);
    this.#batches.inc();
  }

  /** A request of a guild that has reached a quota, such as one that invents servers. */
  quotaExceeded(guildId: string, quota: Quota): void {
    this.#quotas.inc({ quota });
    this.#log.info({ guild_id: guildId, quota }, 'quota exceeded');
  }

  gameRegistered(guildId: string, { universeId, placeId, pluginVersion }: Game): void {
    const line = { guild_id: guildId, universe_id: universeId, place_id: placeId, plugin_version: pluginVersion };
    this.#log.info(line, 'a game was registered');
  }

  actionLogged(guildId: string, { actionId, type }: Action, isNew: boolean): void {
    this.#actions.inc({ outcome: isNew ? 'logged' : 'repeated' });
    this.#log.info({ guild_id: guildId, action_id: actionId, type, is_new: isNew }, 'an action was logged');
  }

  staffRoleChanged(
    guildId: string,
    { chatRoleId, level, name, permissions }: StaffRole,
    actor: string,
    change: 'set' | 'removed',
  ): void {
    const line = { guild_id: guildId, chat_role_id: chatRoleId, level, name, permissions, actor };
    this.#log.info(line, `a staff role was ${change}`);
  }

  sessionStarted({ guildId, gameId, serverId }: NewSession, resumed: boolean): void {
    const change = resumed ? 'resumed' : 'started';
    this.#sessions.inc({ change });
    this.#log.info({ guild_id: guildId, game_id: gameId, server_id: serverId }, `a staff session was ${change}`);
  }

  sessionEnded(guildId: string, sessionId: string): void {
    this.#sessions.inc({ change: 'ended' });
    this.#log.info({ guild_id: guildId, session_id: sessionId }, 'a staff session was ended');
  }
}
