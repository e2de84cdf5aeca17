import type { Breaker, Breakers } from '#kit/resilience/breaker.ts';

/** More than a Cluster has; beyond them the one made first serves another server. */
const MAX_SERVERS = 32;
/**
 * Half a second in which most questions had no answer is enough to stop waiting, at low rates the first one is. A probe
 * keeps no request waiting, so the server is probed often.
 */
const BREAKER = { windowMs: 500, minCalls: 1, failedPercent: 50, openMs: 100 };

interface Entry {
  server: string;
  readonly breaker: Breaker;
}

export interface RedisBreakersOptions {
  breakers: Breakers;
  /** Resolves if the server responds; called in the background while its breaker is open. */
  probe: (server: string) => Promise<unknown>;
  /** Called when any of them has opened or closed. */
  changed: () => void;
}

/** One breaker for each server: the guilds of a Cluster's other nodes go on when one hangs. */
export class RedisBreakers {
  readonly #options: RedisBreakersOptions;
  readonly #byServer = new Map<string, Entry>();

  constructor(options: RedisBreakersOptions) {
    this.#options = options;
    this.of('redis');
  }

  of(server: string): Breaker {
    return (this.#byServer.get(server) ?? this.#add(server)).breaker;
  }

  /** Whether one of these servers is not being waited for. */
  isAnyOpen(servers: readonly string[]): boolean {
    return servers.some((server) => this.#byServer.get(server)?.breaker.isOpen);
  }

  #add(server: string): Entry {
    const entry = this.#byServer.size < MAX_SERVERS ? this.#create(server) : this.#takeOldest();
    entry.server = server;
    this.#byServer.set(server, entry);
    return entry;
  }

  /** The numbers stand for servers, whose addresses are many over time and no label. */
  #create(server: string): Entry {
    const { breakers, probe, changed } = this.#options;
    const number = this.#byServer.size;
    const breaker = breakers.create(number === 0 ? 'redis' : `redis ${number}`, isOutage, BREAKER);
    const entry = { server, breaker };
    breaker.probeWith(() => probe(entry.server));
    breaker.onChange(changed);
    return entry;
  }

  #takeOldest(): Entry {
    const [oldest] = this.#byServer;
    if (!oldest) throw new Error('there is no breaker');
    this.#byServer.delete(oldest[0]);
    return oldest[1];
  }
}

/** Redis refuses nothing: each error means that it could not be asked, but for a slot of a Cluster that is being moved. */
function isOutage(error: unknown): boolean {
  return !(error instanceof Error && error.message.includes('TRYAGAIN'));
}
