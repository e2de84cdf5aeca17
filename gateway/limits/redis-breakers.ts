import type { Breaker, Breakers } from '#kit/breaker.ts';

/** More than a Cluster has; beyond them the one made first serves another server. */
const MAX_SERVERS = 32;
/**
 * Half a second in which most questions had no answer is enough to stop waiting, at low rates the first one is. Trying
 * again keeps nobody waiting, so it is tried often.
 */
const BREAKER = { windowMs: 500, leastCalls: 1, failedPercent: 50, openMs: 100 };

/** One breaker for each server: the guilds of a Cluster's other nodes go on when one hangs. */
export class RedisBreakers {
  readonly #breakers: Breakers;
  readonly #byServer = new Map<string, Breaker>();

  constructor(breakers: Breakers) {
    this.#breakers = breakers;
    this.of('redis');
  }

  of(server: string): Breaker {
    return this.#byServer.get(server) ?? this.#add(server);
  }

  /** Whether one of these servers is not being waited for. */
  isAnyOpen(servers: readonly string[]): boolean {
    return servers.some((server) => this.#byServer.get(server)?.isOpen);
  }

  #add(server: string): Breaker {
    const breaker = this.#byServer.size < MAX_SERVERS ? this.#create() : this.#takeOldest();
    this.#byServer.set(server, breaker);
    return breaker;
  }

  /** The numbers stand for servers, whose addresses are many over time and no label. */
  #create(): Breaker {
    const number = this.#byServer.size;
    return this.#breakers.create(number === 0 ? 'redis' : `redis ${number}`, isOutage, BREAKER);
  }

  #takeOldest(): Breaker {
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
