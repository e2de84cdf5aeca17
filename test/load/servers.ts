import { Client } from 'pg';
import { pin } from './cpu.ts';
import { warmKeys } from './drive.ts';
import type { Figures } from './load.ts';
import { requestsOf, type Scenario } from './scenarios.ts';
import { MEASURED_CORE, measureAt, OTHER_CORE, type Stage } from './stage.ts';
import { GUILDS, gameIdOf } from './world.ts';

/** The number of game servers that two cores have to serve, and the seconds between the heartbeats of each. */
const SERVERS = 50_000;
const INTERVAL_SECONDS = 15;
/** Heartbeats a second of all servers together. */
const HEARTBEAT_RATE = SERVERS / INTERVAL_SECONDS;
/** Long enough for the first heartbeat of each server, whose row is inserted, and a second one. */
const WARM_UP_SECONDS = 2 * INTERVAL_SECONDS;
const PLAYERS = 20;
/** Many, because each heartbeat waits up to 25 ms for others, and a pause of the system must not delay later ones. */
const CONNECTIONS = 1_500;

const HEARTBEATS: Scenario = {
  name: 'heartbeats of all game servers',
  service: 'activity',
  status: 200,
  variety: SERVERS,
  make: (guild, user, number) => ({
    method: 'POST',
    path: '/game/servers/heartbeat',
    body: {
      guild_id: guild.id,
      server_id: `server-${Math.floor(number / GUILDS)}`,
      place_id: 101,
      player_count: PLAYERS,
      max_players: 30,
      players: Array.from({ length: PLAYERS }, () => ({ game_id: gameIdOf(user()) })),
    },
  }),
};

/** The heartbeats of all servers, with their interval, through the whole system. */
export interface ServedServers {
  figures: Figures;
  /** The CPU of all processes together, without that of the load generator, in cores. */
  cores: number;
  /** The number of game servers that the service counts as live after the load. */
  live: number;
}

/** Sends the heartbeats of all servers for `stage.seconds`. All processes and the load generator share both cores. */
export async function driveServers(stage: Stage): Promise<ServedServers> {
  const processes = await stage.system.processes();
  for (const pid of [...Object.values(processes), stage.generator.pid]) pin(pid, `${MEASURED_CORE},${OTHER_CORE}`);
  await warmKeys(stage);
  const { hostname, port } = new URL(stage.system.up.gateway);
  const target = { host: hostname, ports: [Number(port)], requests: requestsOf(HEARTBEATS, stage.world) };
  const measurement = { status: 200, processes, warmUpSeconds: WARM_UP_SECONDS, connections: CONNECTIONS };
  const figures = await measureAt(stage, target, HEARTBEAT_RATE, measurement);
  const live = await liveServers(stage.system.databaseUrl);
  const { generator = 0, ...cpu } = figures.cpu;
  const micros = Object.values(cpu).reduce((sum, one) => sum + one, 0);
  const parts = ['gateway', 'activity', 'postgres', 'redis'].map((name) => `${name} ${(cpu[name] ?? 0).toFixed(0)}`);
  console.log(
    `${figures.perSecond.toFixed(0)} heartbeats/s, p50 ${figures.latency.p50.toFixed(1)} ms, p99 ${figures.latency.p99.toFixed(1)} ms; CPU of each ${micros.toFixed(0)} µs (${parts.join(', ')}), and ${generator.toFixed(0)} µs of the load generator`,
  );
  return { figures, cores: (micros * figures.perSecond) / 1e6, live };
}

/** The targets for this part of the benchmark; none if it was not measured. */
export function serverTargets(served: ServedServers | undefined): { name: string; value: number; max: number }[] {
  if (!served) return [];
  const { cores, figures, live } = served;
  return [
    { name: `heartbeats of ${SERVERS} game servers, cores`, value: cores, max: 2 },
    {
      name: 'the same, heartbeats due in a second without a response',
      value: HEARTBEAT_RATE - figures.perSecond,
      max: 10,
    },
    { name: 'the same, game servers that are not live afterwards', value: SERVERS - live, max: 0 },
  ];
}

async function liveServers(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const live = 'SELECT count(*)::int AS count FROM activity.servers WHERE is_counted AND live_until > now()';
    return (await client.query<{ count: number }>(live)).rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}
