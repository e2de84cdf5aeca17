import { guild } from '../start/01-set-up.ts';

export const SERVER = 'c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77';

/** Reports that the server is live. `final` reports that it shuts down. */
export const heartbeat = (final = false) =>
  guild.sendServerHeartbeat({
    server_id: SERVER,
    place_id: 40001,
    universe_id: 30001,
    player_count: 1,
    max_players: 30,
    players: [{ game_id: 7001, username: 'AdaBuilds' }],
    final,
  });

const beat = await heartbeat();
console.log(`next heartbeat in ${beat.next_heartbeat_seconds} seconds`);
