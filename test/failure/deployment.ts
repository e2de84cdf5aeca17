import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '#kit/clock.ts';
import { asApiError, isServerError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import { type Child, type Exit, startChild, untilReady } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { DEPLOYABLES, type Deployable, environmentOf, type Ports, type Shared } from '#local/processes.ts';
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { connect } from '../network/grpc.ts';
import { bundledProgram } from '../system/app.ts';
import { inheritedEnvironment } from '../system/processes.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { worldOf } from './faulty-network.ts';

const READY_MS = 120_000;
const LOOK_EVERY_MS = 100;
const CONCURRENT_KEYS = 4;
const ERROR = /"level":"(?:error|fatal)"/;

/** How the processes of a release are started. */
export interface Release {
  deployables: readonly Deployable[];
  environmentOf: typeof environmentOf;
  commandOf: (deployable: Deployable) => Promise<[string, ...string[]]>;
}

export const THIS_RELEASE: Release = {
  deployables: DEPLOYABLES,
  environmentOf,
  commandOf: async ({ name }) => [process.execPath, await bundledProgram(name)],
};

/** One process of a deployable. */
export interface Replica {
  deployable: Deployable;
  ports: Ports;
  child: Child;
  /** Readiness as the load balancers see it, up to a tenth of a second old. */
  isReady: boolean;
  /** Its output so far. */
  output: string;
}

/** The root secrets of one installation. */
export interface RootSecrets {
  internal: string;
  admin: string;
}

export interface DeploymentOptions {
  /** The URL of the database, or that of a deployable, by its name. */
  databaseUrl: string | ((name: string) => string);
  redisUrl: string;
  /** Replicas of each deployable. */
  replicas: number;
  /** Guilds with keys, which exist on the chat platform. */
  guilds: readonly string[];
  environment?: NodeJS.ProcessEnv;
  /** The deployables that run; all by default. Others have an address where nothing responds. */
  only?: readonly string[];
  /** The root secrets of an installation that is continued; new ones by default. */
  secrets?: RootSecrets;
  /** The release of the processes that are there from the start; this one by default. */
  release?: Release;
}

/** Every deployable as processes behind load balancers that respect readiness, as in Kubernetes. */
export class Deployment {
  readonly replicas: Replica[] = [];
  /** API keys by guild. */
  readonly keys = new Map<string, string>();
  readonly #options: DeploymentOptions;
  readonly #balancers: Balancer[] = [];
  /** Addresses of each deployable's load balancers. */
  readonly #ports: Record<string, Ports> = {};
  readonly #stopped = new AbortController();
  readonly secrets: RootSecrets;
  #simulators!: Simulators;
  readonly #watching: Promise<void>[] = [];

  constructor(options: DeploymentOptions) {
    this.#options = options;
    this.secrets = options.secrets ?? {
      internal: randomBytes(32).toString('hex'),
      admin: randomBytes(32).toString('hex'),
    };
  }

  async start(): Promise<this> {
    this.#simulators = await startSimulators(worldOf(this.#options.guilds));
    for (const deployable of DEPLOYABLES) await this.#startBalancers(deployable);
    await this.startReplicas();
    await this.#createKeys();
    return this;
  }

  /** Starts the processes of each deployable, as when all are scaled up from zero. */
  async startReplicas(): Promise<void> {
    const { only, release = THIS_RELEASE, replicas } = this.#options;
    for (const { name } of release.deployables.filter((deployable) => only?.includes(deployable.name) ?? true)) {
      await Promise.all(Array.from({ length: replicas }, () => this.startReplica(name, release)));
    }
  }

  /** Stops all processes, as when all deployables are scaled to zero. */
  async stopReplicas(): Promise<void> {
    await Promise.all(this.replicas.splice(0).map((replica) => this.terminate(replica)));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#watching);
    await Promise.all(this.replicas.map(({ child }) => child.stop(0)));
    await Promise.all(this.#balancers.map((balancer) => balancer.close()));
    await this.#simulators?.stop();
  }

  /** URL of the gateways with the API prefix. */
  get api(): string {
    return `http://127.0.0.1:${this.#ports['gateway']?.public}/api/v1`;
  }

  /** The URL of the oldest process of a deployable, without a load balancer. */
  direct(name: string, listener: 'public' | 'http'): string {
    return `http://127.0.0.1:${this.replicasOf(name)[0]?.ports[listener]}`;
  }

  /** The address of a deployable's load balancer for gRPC. */
  grpcAddress(name: string): string {
    return `127.0.0.1:${this.#ports[name]?.grpc}`;
  }

  /** The origin of the console, under its load balancer. */
  get consoleUrl(): string {
    return `http://127.0.0.1:${this.#ports['console']?.public}`;
  }

  get internalSecret(): string {
    return this.secrets.internal;
  }

  /** Makes calls of an operator to a deployable; `close` them when they are done. */
  operator<Definition extends DefinitionShape>(name: string, definition: Definition) {
    return connect(definition, name, this.grpcAddress(name), systemClock, [this.secrets.admin]);
  }

  /** Makes a call as an operator, and repeats it until it succeeds. Throws if it is rejected. */
  async operate<Definition extends DefinitionShape, Result>(
    name: string,
    definition: Definition,
    call: (client: GrpcClient<Definition>) => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      const { client, close } = this.operator(name, definition);
      try {
        return await call(client);
      } catch (error) {
        if (!isServerError(asApiError(error))) throw error;
      } finally {
        close();
      }
      await wait(LOOK_EVERY_MS);
    }
  }

  /** The simulated platforms. */
  get simulators(): Simulators {
    return this.#simulators;
  }

  /** Running processes, the oldest first. */
  replicasOf(name: string): Replica[] {
    return this.replicas.filter(({ deployable, child }) => deployable.name === name && !child.exit());
  }

  /** Starts one more process; resolves once load balancers may send it requests. */
  async startReplica(name: string, release = THIS_RELEASE): Promise<Replica> {
    const deployable = release.deployables.find((candidate) => candidate.name === name) as Deployable;
    const ports = await choosePorts(deployable);
    const environment = {
      ...inheritedEnvironment(),
      LOG_LEVEL: 'warn',
      GRPC_REFLECTION: 'false',
      ...this.#options.environment,
    };
    const replica: Replica = { deployable, ports, child: undefined as never, isReady: false, output: '' };
    replica.child = await startChild({
      command: await release.commandOf(deployable),
      environment: release.environmentOf(
        deployable,
        { ...this.#ports, [name]: ports },
        this.#shared(name),
        environment,
      ),
      output: (text) => (replica.output += text),
    });
    this.replicas.push(replica);
    this.#watching.push(this.#watchReadiness(replica));
    await untilReady(replica.child, async () => replica.isReady, READY_MS);
    return replica;
  }

  /** Stops a process as Kubernetes does; returns its exit and the duration in milliseconds. */
  async terminate({ child }: Replica): Promise<{ exit: Exit; ms: number }> {
    const started = performance.now();
    process.kill(child.pid, 'SIGTERM');
    return { exit: await child.exited, ms: performance.now() - started };
  }

  async kill({ child }: Replica): Promise<void> {
    process.kill(child.pid, 'SIGKILL');
    await child.exited;
  }

  /** The last errors that the processes logged, for the message of a failed test. */
  errors(): string {
    const lines = this.replicas.flatMap(({ output }) => output.split('\n').filter((line) => ERROR.test(line)));
    return lines.slice(-10).map(shortened).join('\n');
  }

  async #startBalancers({ name, listens }: Deployable): Promise<void> {
    const ports: Ports = { admin: 0 };
    for (const listener of listens) {
      const ready = () =>
        this.replicasOf(name)
          .filter(({ isReady }) => isReady)
          .map((replica) => replica.ports[listener] as number);
      const balancer = await startBalancer(ready);
      this.#balancers.push(balancer);
      ports[listener] = balancer.port;
    }
    this.#ports[name] = ports;
  }

  #shared(name: string): Shared {
    const { databaseUrl } = this.#options;
    return {
      databaseUrl: typeof databaseUrl === 'string' ? databaseUrl : databaseUrl(name),
      databaseDirectUrl: undefined,
      redisUrl: this.#options.redisUrl,
      roots: { internal: [this.secrets.internal], admin: [this.secrets.admin] },
      chatUrl: this.#simulators.chat,
      chatPublicKey: this.#simulators.world.application.publicKey,
      gameUrl: this.#simulators.game,
      oidcUrl: this.#simulators.oidc,
      consoleUrl: this.consoleUrl,
      gatewayUrl: `http://127.0.0.1:${this.#ports['gateway']?.public}`,
    };
  }

  /** Checks each process independently: a slow one must not keep draining ones in the load balancers. */
  async #watchReadiness(replica: Replica): Promise<void> {
    while (!this.#stopped.signal.aborted && !replica.child.exit()) {
      await lookAt(replica);
      await wait(LOOK_EVERY_MS);
    }
    replica.isReady = false;
  }

  async #createKeys(): Promise<void> {
    const request = { name: 'test', legacy: false, scopes: [...SCOPES], ipAllowlist: [], actor: 'test' };
    await inParallel(this.#options.guilds, CONCURRENT_KEYS, async (guildId) => {
      const create = this.operate('auth', KeyAdminServiceService, (client) =>
        client.createKey({ ...request, guildId }),
      );
      this.keys.set(guildId, (await create).secret);
    });
  }
}

function shortened(line: string): string {
  const { time, service, route, msg, err } = JSON.parse(line);
  return `${time} ${service} ${route}: ${msg}: ${err?.message}`;
}

async function choosePorts({ listens }: Deployable): Promise<Ports> {
  const [admin = 0, ...others] = await freePorts(1 + listens.length);
  return { admin, ...Object.fromEntries(listens.map((listener, index) => [listener, others[index]])) };
}

/** Checks readiness. A process that does not respond in time keeps its previous state. */
async function lookAt(replica: Replica): Promise<void> {
  try {
    const url = `http://127.0.0.1:${replica.ports.admin}/readyz`;
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    replica.isReady = response.ok;
  } catch (error) {
    if (!(error instanceof DOMException)) replica.isReady = false;
  }
}
