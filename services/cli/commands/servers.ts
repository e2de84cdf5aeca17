import { CommandAdminServiceService, type GameServer } from '#proto/gen/guild/activity/v1/admin.ts';
import type { Command } from '../command.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { time } from '../text.ts';

const list: Command = {
  name: 'servers list',
  usage: `--guild ID [--place PLACE_ID] ${PAGE_USAGE}`,
  notes: ['--place ID       only servers of this place', ...PAGE_NOTES],
  options: { guild: { type: 'string' }, place: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const placeId = input.numericId('place');
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'servers',
      none: 'No server is live.',
      headings: ['SERVER', 'PLACE', 'PLAYERS', 'FPS', 'PLUGIN', 'HEARTBEAT', 'LIVE UNTIL'],
      cells,
      document,
      page: async ({ limit, cursor }) => {
        const activity = connections.admin(CommandAdminServiceService, 'activity');
        const page = await activity.listServers({ guildId, placeId, limit, cursor });
        return { items: page.servers, nextCursor: page.nextCursor };
      },
    });
  },
};

export const serverCommands: readonly Command[] = [list];

const cells = (server: GameServer) => [
  server.serverId,
  String(server.placeId),
  `${server.playerCount}/${server.maxPlayers}`,
  server.fps === undefined ? '' : server.fps.toFixed(1),
  server.pluginVersion ?? '',
  time(server.heartbeatAt),
  time(server.liveUntil),
];

const document = (server: GameServer) => ({
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
});
