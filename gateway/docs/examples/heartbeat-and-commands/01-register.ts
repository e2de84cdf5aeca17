import { guild } from '../start/01-set-up.ts';

const { config } = await guild.registerGame({ universe_id: 30001, place_id: 40001, name: 'Harbor Life' });
console.log(`heartbeat every ${config.server_heartbeat_seconds} seconds`);
