import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { CommandAdminServiceService, type EnqueueCommandsRequest } from '#proto/gen/guild/activity/v1/admin.ts';
import type { GuildWriter, Turn } from './guild-writer.ts';

/** The server that is live during the whole test and acknowledges its commands. */
const SERVER = 'main';
const PLACE = { place_id: 40_001, player_count: 1, max_players: 9 };
const BEAT_EVERY_MS = 5_000;
const POLL_EVERY_MS = 500;
const SHORT_SECONDS = 2;
const LONG_SECONDS = 600;
/** PostgreSQL writes hundreds of digits for each of these numbers, more than an event may have. */
const LONG_DETAILS = { scores: Array.from({ length: 100 }, () => 1e300) };

const beat = (writer: GuildWriter, serverId: string, isFinal = false) =>
  writer.post('/game/servers/heartbeat', { server_id: serverId, ...PLACE, final: isFinal });

/** Acts as the main server of a guild until `signal` is aborted. */
export async function serve(writer: GuildWriter, signal: AbortSignal): Promise<void> {
  let beatAt = -Infinity;
  while (!signal.aborted) {
    if (performance.now() - beatAt > BEAT_EVERY_MS) {
      await beat(writer, SERVER);
      if (beatAt === -Infinity) writer.confirm('server.online', SERVER);
      beatAt = performance.now();
    }
    const { commands } = await writer.get(`/game/servers/${SERVER}/commands`);
    for (const { command_id: id } of commands) {
      await writer.post(`/game/servers/${SERVER}/commands/${id}/ack`, { status: 'success' });
    }
    await wait(POLL_EVERY_MS);
  }
}

/** A server comes online and shuts down. */
export const serversTurn: Turn = async (writer, turn) => {
  const serverId = `turn-${turn}`;
  await beat(writer, serverId);
  writer.confirm('server.online', serverId);
  await beat(writer, serverId, true);
  writer.confirm('server.offline', serverId);
};

/** Operators send commands: one is acknowledged, one expires, one is cancelled. */
export const commandsTurn: Turn = async (writer) => {
  const admin = CommandAdminServiceService;
  const { guild: guildId } = writer;
  const send = async (serverId: string, ttlSeconds: number) => {
    const request: EnqueueCommandsRequest = {
      guildId,
      servers: { $case: 'serverId', value: serverId },
      type: 'message',
      target: { gameId: 7001 },
      payload: '{"text":"hello"}',
      ttlSeconds,
      actor: 'test',
      idempotencyKey: randomUUID(),
    };
    const { commandIds } = await writer.operate('activity', admin, (client) => client.enqueueCommands(request));
    return commandIds[0] as string;
  };
  const acknowledged = await send(SERVER, LONG_SECONDS);
  const expiring = await send('nobody', SHORT_SECONDS);
  const cancelled = await send('nobody', LONG_SECONDS);
  const request = { guildId, commandId: cancelled, actor: 'test' };
  await writer.operate('activity', admin, (client) => client.cancelCommand(request));
  for (const id of [acknowledged, expiring, cancelled]) writer.confirm('command.finished', id);
};

/** Staff sessions and actions; every other session is ended, and one action is sent once. */
export const staffTurn: Turn = async (writer, turn) => {
  const start = { game_id: 7001 + (turn % 4), server_id: `${SERVER}-${turn}`, place_id: PLACE.place_id };
  const { session_id } = await writer.post('/staff/game/session/start', start);
  writer.confirm('session.started', session_id);
  const action = () => ({ actor_game_id: start.game_id, action_type: 'kick', action_id: randomUUID() });
  const { id } = await writer.post('/staff/game/action', action());
  writer.confirm('staff.action', id);
  const unsure = await writer.attempt('/staff/game/action', { ...action(), details: LONG_DETAILS });
  if (unsure) writer.confirm('staff.action', unsure.id);
  if (turn % 2 === 0) return;
  await writer.post('/staff/game/session/end', { session_id });
  writer.confirm('session.ended', session_id);
};
