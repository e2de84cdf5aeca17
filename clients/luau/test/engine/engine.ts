import { randomInt, randomUUID } from 'node:crypto';
import { type EngineClock, RealClock } from './clock.ts';
import { DataStoreLimits, DataStores } from './data-stores.ts';
import { HttpLimits, type LoggedRequest, type Network, SocketTransport, type Transport } from './http.ts';
import { Messaging, type MessagingServer } from './messaging.ts';
import { type ModuleTree, numberModules } from './modules.ts';
import { type Effect, LuauVm } from './vm.ts';

const CLOSE_MS = 30_000;
const ENDED = 'the game server has ended';

/** What the servers of one experience share. */
export class Universe {
  readonly clock: EngineClock;
  readonly messaging: Messaging;
  readonly dataStores = new DataStores();
  readonly id: number;

  constructor(options: { clock?: EngineClock; id?: number } = {}) {
    this.clock = options.clock ?? new RealClock();
    this.messaging = new Messaging(this.clock);
    this.id = options.id ?? randomInt(1_000_000, 2 ** 40);
  }
}

export interface EngineOptions {
  universe?: Universe;
  /** Placed in `game.ServerScriptService`. */
  modules?: readonly ModuleTree[];
  /** Secrets of the experience. `domain` is where they may be sent: a host, `*.host` or `*`. */
  secrets?: Record<string, { value: string; domain: string }>;
  studio?: boolean;
  /** The setting "Enable Studio Access to API Services". */
  studioApiAccess?: boolean;
  /** The setting "Allow HTTP Requests". */
  httpEnabled?: boolean;
  game?: {
    JobId?: string;
    PlaceId?: number;
    PlaceVersion?: number;
    PrivateServerId?: string;
    PrivateServerOwnerId?: number;
  };
  maxPlayers?: number;
  /** The seed of `math.random`; a random one by default. */
  seed?: number;
  /** Responds to requests in place of real sockets. */
  transport?: Transport;
}

export interface OutputLine {
  level: 'print' | 'warn';
  text: string;
}

/** One game server: a Luau VM with stand-ins of the engine's services. */
export class Engine {
  readonly universe: Universe;
  readonly network: Network = { down: false, latency: 0, fault: undefined };
  readonly output: OutputLine[] = [];
  /** Errors that no script caught. */
  readonly errors: string[] = [];
  /** Players in the server, and with which message the others were kicked (players that left have none). */
  readonly players = new Set<number>();
  readonly kicks: { userId: number; reason: string }[] = [];
  readonly jobId: string;
  readonly http: HttpLimits;
  readonly #vm: LuauVm;
  readonly #clock: EngineClock;
  readonly #stores: DataStoreLimits;
  readonly #sockets: SocketTransport;
  readonly #messagingServer: MessagingServer;
  readonly #runs = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #events: object[] = [];
  #pumping: Promise<void> | undefined;
  #cancelTimer = () => {};
  #stopped = false;
  #whenClosed: (() => void) | undefined;

  constructor(vm: LuauVm, universe: Universe, jobId: string, options: EngineOptions) {
    this.#vm = vm;
    this.universe = universe;
    this.#clock = universe.clock;
    this.jobId = jobId;
    this.#sockets = new SocketTransport(universe.clock);
    this.http = new HttpLimits({
      clock: universe.clock,
      network: this.network,
      transport: options.transport ?? this.#sockets.send,
      studio: options.studio ?? false,
      placeId: options.game?.PlaceId ?? 1,
    });
    this.#stores = new DataStoreLimits({
      clock: universe.clock,
      stores: universe.dataStores,
      playerCount: () => this.players.size,
      warn: (text) => this.output.push({ level: 'warn', text }),
    });
    this.#messagingServer = {
      playerCount: () => this.players.size,
      deliver: (subscription, message, sent) => {
        this.#post({ kind: 'message', subscription, message, sent });
      },
    };
    universe.messaging.addServer(this.#messagingServer);
  }

  /** Requests that scripts have made, in order. */
  get requests(): readonly LoggedRequest[] {
    return this.http.requests;
  }

  /** Runs a server script. Resolves with the first value that it returns, as JSON can express it. */
  async run<T = unknown>(source: string, name = 'Script'): Promise<T> {
    const chunk = await this.#vm.compile(source, `ServerScriptService.${name}`);
    if (this.#stopped) throw new Error(ENDED);
    return await new Promise<T>((resolve, reject) => {
      this.#runs.set(chunk, { resolve: resolve as (value: unknown) => void, reject });
      this.#post({ kind: 'run', chunk, name });
    });
  }

  addPlayer(userId: number, name = `Player${userId}`): void {
    this.players.add(userId);
    this.#post({ kind: 'join', userId, name });
  }

  /** A player writes in the chat of the game. */
  chat(userId: number, message: string): void {
    this.#post({ kind: 'chat', userId, message });
  }

  removePlayer(userId: number): void {
    this.#post({ kind: 'leave', userId });
  }

  /** The network is lost, and connections that are open end at once. `network.down = false` brings it back. */
  disconnect(): void {
    this.network.down = true;
    this.#sockets.close();
  }

  /** Shuts the server down: players leave, and functions bound with BindToClose have 30 seconds. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#whenClosed = resolve;
    });
    const cancel = this.#clock.schedule(this.#clock.now() + CLOSE_MS, () => this.#whenClosed?.());
    this.#post({ kind: 'close' });
    await closed;
    cancel();
    await this.crash();
  }

  /** The server ends at once, without a chance to react. */
  async crash(): Promise<void> {
    if (!this.#stopped) this.#end();
    await this.#pumping;
  }

  #post(event: object): void {
    if (this.#stopped) return;
    this.#events.push(event);
    this.#wake();
  }

  #wake(): void {
    if (this.#pumping || this.#stopped) return;
    const release = this.#clock.hold();
    const pump = async () => {
      try {
        await this.#pumpAll();
      } catch (error) {
        // The VM itself has failed, for example because its memory is full.
        this.errors.push(`the VM has failed: ${(error as Error).message}`);
        this.#end();
      }
      this.#pumping = undefined;
      if (this.#events.length > 0) this.#wake();
      release();
    };
    this.#pumping = pump();
  }

  #end(): void {
    this.#stopped = true;
    this.#cancelTimer();
    this.universe.messaging.removeServer(this.#messagingServer);
    for (const { reject } of this.#runs.values()) reject(new Error(ENDED));
    this.#runs.clear();
    this.#whenClosed?.();
    this.http.end();
    this.#sockets.close();
  }

  async #pumpAll(): Promise<void> {
    do {
      this.#cancelTimer();
      const events = this.#events;
      this.#events = [];
      const { due, effects } = await this.#vm.pump(this.#clock.now(), events);
      if (this.#stopped) return;
      for (const effect of effects) this.#handle(effect);
      if (due !== undefined) {
        this.#cancelTimer = this.#clock.schedule(due, () => {
          this.#wake();
        });
      }
    } while (this.#events.length > 0);
  }

  #handle(effect: Effect): void {
    switch (effect.kind) {
      case 'output':
        this.output.push({ level: effect.level, text: effect.text });
        break;
      case 'error':
        this.errors.push(`${effect.text}\n${effect.trace}`.trimEnd());
        break;
      case 'finished':
        this.#finish(effect);
        break;
      case 'closed':
        this.#whenClosed?.();
        break;
      case 'playerRemoved':
        this.players.delete(effect.userId);
        if (effect.reason !== undefined) this.kicks.push({ userId: effect.userId, reason: effect.reason });
        break;
      case 'unsubscribe':
        this.universe.messaging.unsubscribe(this.#messagingServer, effect.subscription);
        break;
      default:
        void this.#answer(effect);
    }
  }

  #finish(effect: Extract<Effect, { kind: 'finished' }>): void {
    const run = this.#runs.get(effect.chunk);
    this.#runs.delete(effect.chunk);
    if (effect.success) run?.resolve(effect.value === undefined ? undefined : JSON.parse(effect.value));
    else run?.reject(new Error(`${effect.text}\n${effect.trace}`));
  }

  async #answer(effect: Extract<Effect, { id: number }>): Promise<void> {
    try {
      this.#post({ kind: 'resume', id: effect.id, success: true, value: await this.#perform(effect) });
    } catch (error) {
      this.#post({ kind: 'resume', id: effect.id, success: false, value: (error as Error).message });
    }
  }

  async #perform(effect: Extract<Effect, { id: number }>): Promise<unknown> {
    if (effect.kind === 'http') return await this.http.request(effect);
    if (effect.kind === 'dataStore') return await this.#stores.request(effect);
    if (effect.kind === 'dataStoreBudget') return this.#stores.budget(effect.type);
    const { messaging } = this.universe;
    if (effect.kind === 'subscribe') return messaging.subscribe(this.#messagingServer, effect.topic);
    messaging.publishFrom(this.#messagingServer, effect.topic, effect.message);
    return undefined;
  }
}

/** Starts a game server with these modules; nothing runs before `run`. */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const universe = options.universe ?? new Universe();
  const studio = options.studio ?? false;
  const jobId = options.game?.JobId ?? (studio ? '' : randomUUID());
  const { root, sources } = numberModules(options.modules ?? []);
  const vm = await LuauVm.create(
    {
      seed: options.seed ?? randomInt(1, 2 ** 31),
      studio,
      studioApiAccess: options.studioApiAccess ?? false,
      httpEnabled: options.httpEnabled ?? true,
      maxPlayers: options.maxPlayers ?? 50,
      secrets: options.secrets ?? {},
      scripts: root,
      game: {
        PlaceId: 1,
        PlaceVersion: 1,
        PrivateServerId: '',
        PrivateServerOwnerId: 0,
        CreatorId: 1,
        ...options.game,
        GameId: universe.id,
        JobId: jobId,
      },
    },
    sources,
  );
  return new Engine(vm, universe, jobId, options);
}
