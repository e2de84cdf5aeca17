import type { GameServer } from '#proto/gen/guild/activity/v1/admin.ts';
import type { StaffSession } from '#proto/gen/guild/activity/v1/players.ts';
import type { Link } from '#proto/gen/guild/lookup/v1/lookup.ts';

/** Converts a link of the lookup service to its form in REST responses. */
export function linkView({ chatId, gameId, gameUsername }: Link) {
  return { chat_id: chatId, game_id: gameId, game_username: gameUsername, verified: true };
}

/** Converts an open staff session of the activity service to its form in REST responses. */
export function sessionView(session: StaffSession) {
  return {
    session_id: session.sessionId,
    game_id: session.gameId,
    game_username: session.gameUsername ?? null,
    place_id: session.placeId,
    server_id: session.serverId,
    started_at: session.startedAt,
    ended_at: null,
    idle_seconds: session.idleSeconds,
    end_reason: null,
  };
}

/** Converts a live game server of the activity service to its form in REST responses. */
export function serverView(server: GameServer) {
  return {
    server_id: server.serverId,
    place_id: server.placeId,
    universe_id: server.universeId ?? null,
    player_count: server.playerCount,
    max_players: server.maxPlayers,
    fps: server.fps ?? null,
    plugin_version: server.pluginVersion ?? null,
    started_at: server.startedAt ?? null,
    heartbeat_at: server.heartbeatAt,
    live_until: server.liveUntil,
  };
}
