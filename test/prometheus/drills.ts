import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { vi } from 'vitest';
import { Breakers } from '#kit/resilience/breaker.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { lookupService } from '#services/lookup/service.ts';
import { PlatformLimits } from '#services/platforms/budget/limits.ts';
import { SharedRedis } from '#services/platforms/budget/shared-redis.ts';
import { Authority, writeTlsFiles } from '../network/certificates.ts';
import type { TcpProxy } from '../network/tcp-proxy.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import { testEnvironment } from '../system/signed-calls.ts';
import { GUILD, type Network } from '../system/system.ts';
import type { OrdinaryLoad } from './ordinary-load.ts';
import type { Target } from './prometheus.ts';

/** What drills act on. */
export interface Stage {
  network: Network;
  load: OrdinaryLoad;
  /** The proxies in front of parts, by name: `postgres`, `auth grpc`, `activity grpc` and so on. */
  proxies: ReadonlyMap<string, TcpProxy>;
  /** Adds a process to those that Prometheus scrapes. */
  scrape: (target: Target) => void;
  /** A key of GUILD. */
  key: string;
}

/** One cause, the critical alerts that it must make fire, and what ends it. */
export interface Drill {
  title: string;
  alerts: readonly string[];
  /** Returns the function that ends the cause. */
  cause: (stage: Stage) => Promise<() => Promise<void>>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The key in Redis under which the processes with one bot token count invalid requests. */
const INVALID_REQUESTS = '{limits:*}:invalid';

/** Repeats an action several times a second until it is ended. */
function repeat(action: () => Promise<unknown>, everyMs: number): () => Promise<void> {
  const stopped = new AbortController();
  const running = (async () => {
    while (!stopped.signal.aborted) {
      await action().catch(() => undefined);
      await wait(everyMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return async () => {
    stopped.abort();
    await running;
  };
}

function proxyOf({ proxies }: Stage, name: string): TcpProxy {
  const proxy = proxies.get(name);
  if (!proxy) throw new Error(`there is no proxy in front of ${name}`);
  return proxy;
}

/** Makes a simulated platform respond with an error. */
async function setFault(url: string, fault: object): Promise<() => Promise<void>> {
  const response = await fetch(`${url}/__faults`, { method: 'POST', body: JSON.stringify(fault) });
  if (!response.ok) throw new Error(await response.text());
  return async () => void (await fetch(`${url}/__faults`, { method: 'DELETE' }));
}

/** Causes that do not disturb each other, so they last at the same time. */
export const SEPARATE_CAUSES: readonly Drill[] = [
  {
    title: 'the console is down',
    alerts: ['GuildDataServiceDown'],
    cause: async ({ network }) => {
      const environment = network.samePorts('console');
      await network.services.get('console')?.stop();
      return async () => void (await network.startOne('console', environment));
    },
  },
  {
    title: 'somebody calls a service without a signature',
    alerts: ['GuildDataInternalCallsRejected'],
    cause: async ({ network }) =>
      repeat(() => fetch(`http://${network.address('lookup', 'http')}/api/v1/lookup/status`), 200),
  },
  {
    title: 'moderation cannot reach activity, and a ban waits',
    alerts: ['GuildDataOutboxStuck'],
    cause: async (stage) => {
      const proxy = proxyOf(stage, 'activity grpc');
      await proxy.refuse();
      const body = { guild_id: GUILD, game_id: 7001, reason: 'Drill' };
      const ban = { method: 'POST', key: stage.key, body };
      const isStored = async () => (await stage.network.call(`/moderation/${GUILD}/game/ban`, ban)).status < 300;
      await vi.waitUntil(isStored, PATIENCE);
      return () => proxy.accept();
    },
  },
  {
    title: 'the game platform rejects our API key',
    alerts: ['GuildDataPlatformRejectsCredentials'],
    cause: async ({ network, key }) => {
      const endFault = await setFault(network.simulators.game, { match: '', status: 401 });
      let group = 1;
      const body = () => ({ guild_id: GUILD, game_group_id: group++, min_rank: 1, max_rank: 2 });
      const ask = () => network.call('/bindings/validate', { method: 'POST', key, body: body() });
      const end = repeat(ask, 1_500);
      return async () => {
        await end();
        await endFault();
        await ask();
      };
    },
  },
  {
    title: 'another program with the same bot token makes thousands of invalid requests',
    alerts: ['GuildDataChatInvalidRequests'],
    cause: async ({ network, key }) => {
      const redis = new Redis(network.redisUrl ?? '');
      await noteInvalidRequests(redis, 5_500);
      const end = repeat(() => network.call(`/guilds/${GUILD}/members/920000000000000001`, { key }), 2_000);
      return async () => {
        // The count ends ten minutes after the requests; here the drill forgets them.
        const [invalid] = await redis.keys(INVALID_REQUESTS);
        if (invalid !== undefined) await redis.del(invalid);
        redis.disconnect();
        await wait(5_000);
        await end();
      };
    },
  },
  {
    title: 'a certificate is not renewed',
    alerts: ['GuildDataCertificateEndsNow'],
    cause: async ({ network, scrape }) => {
      const folder = mkdtempSync(join(tmpdir(), 'guild-drill-'));
      const authority = new Authority('ours');
      const old = authority.issue({ from: Date.now() - 89 * DAY_MS, until: Date.now() + HOUR_MS });
      const files = writeTlsFiles(folder, old, authority.cert);
      const replica = await startService(lookupService, { ...testEnvironment(network.databaseUrl), ...files });
      scrape({ name: 'lookup', address: replica.addresses.admin });
      stopAtEnd(network, replica, folder);
      return async () => {
        writeTlsFiles(folder, authority.issue({ until: Date.now() + 90 * DAY_MS }), authority.cert);
      };
    },
  },
  {
    title: 'somebody changes the audit in the database',
    alerts: ['GuildDataAuditBroken'],
    cause: async ({ network, scrape }) => {
      await databaseRows(network.databaseUrl, "UPDATE auth.audit SET actor = 'eve' WHERE guild_id = $1", [GUILD]);
      // A replica verifies the audit at a random time of its first five minutes, and then once an hour.
      const random = vi.spyOn(Math, 'random').mockReturnValue(0.02);
      const replica = await network.startOne('auth');
      random.mockRestore();
      scrape({ name: 'auth', address: replica.addresses.admin });
      return async () => undefined;
    },
  },
  {
    title: 'game servers stop sending heartbeats',
    alerts: ['GuildDataGameServersSilent'],
    cause: async ({ load }) => {
      load.sendsHeartbeats = false;
      return async () => {
        load.sendsHeartbeats = true;
      };
    },
  },
];

/** Causes that affect all requests, so they last one after the other. */
export const GENERAL_CAUSES: readonly Drill[] = [
  {
    title: 'PostgreSQL is away',
    alerts: ['GuildDataDatabaseUnavailable', 'GuildDataFaultsBurnFast'],
    cause: async (stage) => {
      const proxy = proxyOf(stage, 'postgres');
      await proxy.refuse();
      return () => proxy.accept();
    },
  },
  {
    title: 'the gateway cannot reach auth',
    alerts: ['GuildDataKeysNotVerified'],
    cause: async (stage) => {
      const proxy = proxyOf(stage, 'auth grpc');
      await proxy.refuse();
      return () => proxy.accept();
    },
  },
  {
    title: 'every statement takes 300 ms longer',
    alerts: ['GuildDataSlowBurnFast'],
    cause: async (stage) => {
      const proxy = proxyOf(stage, 'postgres');
      proxy.slow(150);
      return async () => proxy.slow(0);
    },
  },
];

/** Counts requests as a client of the chat platform does, under the bot token of the system. */
async function noteInvalidRequests(redis: Redis, count: number): Promise<void> {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const shared = new SharedRedis({ redis, processes: 1, breakers, log: pino({ level: 'silent' }) });
  const limits = new PlatformLimits({
    shared,
    platform: 'chat platform',
    credential: 'test-bot-token',
    maxInvalid: 10_000,
  });
  // On a busy machine Redis may respond too late, and the client does not count a request.
  while ((await storedInvalidRequests(redis)) < count) {
    for (let index = 0; index < 20; index++) limits.note('drill', { isInvalid: true });
    await wait(5);
  }
  breakers.stop();
}

/** The number of invalid requests of the last ten minutes that the processes share. */
async function storedInvalidRequests(redis: Redis): Promise<number> {
  const [invalid] = await redis.keys(INVALID_REQUESTS);
  const counts = invalid === undefined ? [] : await redis.hvals(invalid);
  return counts.reduce((sum, each) => sum + Number(each), 0);
}

const leftovers = new WeakMap<Network, (() => Promise<void>)[]>();

function stopAtEnd(network: Network, replica: RunningService, folder: string): void {
  const all = leftovers.get(network) ?? [];
  leftovers.set(network, all);
  all.push(async () => {
    await replica.stop();
    rmSync(folder, { recursive: true });
  });
}

/** Stops what drills started besides the network. */
export async function stopLeftovers(network: Network): Promise<void> {
  for (const stop of leftovers.get(network) ?? []) await stop();
}
