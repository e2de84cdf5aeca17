import type { Clock } from '#kit/clock.ts';
import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import { wakeUpTopic } from '#proto/rest/activity/wake-ups.ts';
import type { activityRoutes } from '#proto/rest/activity.ts';
import type { CommandReads } from '../domain/command-reads.ts';
import type { Commands } from '../domain/commands.ts';
import type { Heartbeats } from '../domain/heartbeats.ts';
import type { Intervals } from '../domain/intervals.ts';
import type { LiveServers } from '../domain/live-servers.ts';
import type { Permissions } from '../domain/permissions.ts';
import type { Polls } from '../domain/polls.ts';
import type { Sessions } from '../domain/sessions.ts';
import type { Staff } from '../domain/staff.ts';
import type { StaffRecords } from '../domain/staff-records.ts';
import type { StaffReport } from '../domain/staff-report.ts';
import { commandHandlers } from './commands.ts';
import { requireServerId } from './server-id.ts';
import { serverReadHandlers } from './server-reads.ts';
import { staffReadHandlers } from './staff-reads.ts';
import { staffReportHandlers } from './staff-report.ts';
import { commandView, permissionsView } from './views.ts';

export interface HandlerOptions {
  staff: Staff;
  permissions: Permissions;
  sessions: Sessions;
  heartbeats: Heartbeats;
  commands: Commands;
  commandReads: CommandReads;
  polls: Polls;
  intervals: Intervals;
  liveServers: LiveServers;
  staffRecords: StaffRecords;
  staffReport: StaffReport;
  clock: Clock;
  /** True if game servers are told the topic of the messages that wake them. */
  tellsTopic: boolean;
}

/** The handlers of the routes in proto/rest/activity.ts. */
export function activityHandlers(options: HandlerOptions): HttpHandlers<typeof activityRoutes> {
  return {
    ...staffHandlers(options),
    ...serverHandlers(options),
    ...staffReadHandlers(options.staffRecords),
    ...staffReportHandlers(options.staffReport),
    ...serverReadHandlers(options.liveServers),
    ...commandHandlers(options),
  };
}

type Handlers = HttpHandlers<typeof activityRoutes>;
type StaffRoutes = 'readPermissions' | 'registerGame' | 'logAction' | 'startSession' | 'beatSessions' | 'endSession';
type ServerRoutes = 'beatServer' | 'pollCommands' | 'acknowledgeCommand';

function staffHandlers({ staff, permissions, sessions }: HandlerOptions): Pick<Handlers, StaffRoutes> {
  return {
    async readPermissions({ guildId, params: { gameId } }) {
      return ok(permissionsView(gameId, await permissions.read(guildId, gameId)));
    },
    registerGame: ({ write, body }) =>
      staff.register(write, {
        universeId: body.universe_id,
        placeId: body.place_id,
        name: body.name,
        pluginVersion: body.plugin_version,
      }),
    async logAction({ write, body }) {
      const action = {
        actionId: body.action_id,
        actorGameId: body.actor_game_id,
        type: body.action_type,
        targetGameId: body.target_game_id,
        placeId: body.place_id,
        serverId: body.server_id === undefined ? undefined : requireServerId(body.server_id),
        details: body.details,
      };
      const occurredAt = body.occurred_at === undefined ? undefined : new Date(body.occurred_at * 1000);
      return staff.logAction(write, action, occurredAt);
    },
    async startSession({ guildId, write, body }) {
      return sessions.start(write, {
        guildId,
        gameId: body.game_id,
        gameUsername: body.game_username,
        placeId: body.place_id,
        serverId: requireServerId(body.server_id),
      });
    },
    async beatSessions({ guildId, body }) {
      const beats = body.sessions.map(({ session_id: sessionId, idle_seconds: idleSeconds = 0 }) => ({
        sessionId,
        idleSeconds,
      }));
      return ok(await sessions.beat({ guildId, serverId: requireServerId(body.server_id) }, beats));
    },
    endSession: ({ write, body }) => sessions.end(write, body.session_id, body.reason),
  };
}

function serverHandlers(options: HandlerOptions): Pick<Handlers, ServerRoutes> {
  const { heartbeats, commands, polls, intervals, tellsTopic } = options;
  return {
    async beatServer({ guildId, body, signal }) {
      const serverId = requireServerId(body.server_id);
      const heartbeat = {
        guildId,
        serverId,
        placeId: body.place_id,
        universeId: body.universe_id,
        playerCount: body.player_count,
        maxPlayers: body.max_players,
        players: body.players,
        fps: body.fps,
        ageSeconds: body.age_seconds,
        pluginVersion: body.plugin_version,
        isFinal: body.final ?? false,
      };
      const acks = (body.acks ?? []).map((ack) => ackOf(guildId, serverId, ack.command_id, ack));
      const response = await heartbeats.receive(heartbeat, acks, signal);
      return ok({
        server_time: response.serverTime,
        next_heartbeat_seconds: response.intervalSeconds,
        commands: response.commands.map(commandView),
        ...(tellsTopic && { wake_up_topic: wakeUpTopic(guildId) }),
      });
    },
    async pollCommands({ guildId, params, query, signal }) {
      const request = { guildId, serverId: params.serverId, limit: query.limit };
      // The interval is read before commands are leased: a failure after the lease would delay the commands until the
      // lease ends.
      const pollAfterSeconds = await intervals.read(guildId);
      const leased = await polls.poll(request, query.wait * 1000, signal);
      return ok({ commands: leased.map(commandView), poll_after_seconds: pollAfterSeconds });
    },
    acknowledgeCommand: ({ guildId, write, params, body }) =>
      commands.acknowledge(write, ackOf(guildId, params.serverId, params.commandId, body)),
  };
}

interface AckFields {
  status: 'success' | 'failed' | 'rejected';
  result?: unknown;
  error?: string | null | undefined;
}

function ackOf(guildId: string, serverId: string, commandId: string, { status, result, error }: AckFields) {
  return { guildId, serverId, commandId, status, result, error: error ?? undefined };
}
