import type { Breaker, Breakers } from '../resilience/breaker.ts';

/**
 * The maximum number of Redis servers with a circuit breaker, more than any Cluster has. Above it the oldest breaker is
 * assigned to another server.
 */
const MAX_SERVERS = 32;
/**
 * The circuit breaker of a Redis server opens when more than half of the calls of the last half second failed; at low
 * rates one failed call is enough. A probe delays no request, so an open breaker probes often.
 */
const BREAKER = { windowMs: 500, minCalls: 1, failedPercent: 50, openMs: 100 };

interface Entry {
  server: string;
  readonly breaker: Breaker;
}

export interface RedisBreakersOptions {
  breakers: Breakers;
  /** Resolves if the Redis server responds; called in the background while the server's breaker is open. */
  probe: (server: string) => Promise<unknown>;
  /** Called when a circuit breaker has opened or closed. */
  changed: () => void;
}

/** One circuit breaker for each Redis server, so that a Cluster node that hangs affects only its own guilds. */
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

  /** True if the circuit breaker of one of these Redis servers is open. */
  isAnyOpen(servers: readonly string[]): boolean {
    return servers.some((server) => this.#byServer.get(server)?.breaker.isOpen);
  }

  #add(server: string): Entry {
    const entry = this.#byServer.size < MAX_SERVERS ? this.#create(server) : this.#takeOldest();
    entry.server = server;
    this.#byServer.set(server, entry);
    return entry;
  }

  /**
   * Creates a circuit breaker, named by a number: server addresses change over time and would be an unbounded metric
   * label.
   */
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

/**
 * True if the error means that Redis could not decide: every error except TRYAGAIN, while a slot is moved to another
 * node.
 */
function isOutage(error: unknown): boolean {
  return !(error instanceof Error && error.message.includes('TRYAGAIN'));
}
