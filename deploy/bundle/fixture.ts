import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePorts } from '#local/ports.ts';
import { DEPLOYABLES, type Deployable, environmentOf, type Ports, type Shared } from '#local/processes.ts';
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { appFolder } from '#test/system/app.ts';
import { type ReplicaProcess, startReplicaProcess } from '#test/system/replica-process.ts';
import { IMAGE } from './image.ts';
import { programFile } from './programs.ts';

interface Finished {
  status: number | null;
  output: string;
  errors: string;
}

const { ADMIN_HOST: _, ...IMAGE_VARIABLES } = IMAGE.environment;

interface Parts {
  folder: string;
  database: TestDatabase;
  simulators: Simulators;
  ports: Record<string, Ports>;
  shared: Shared;
}

/** What the chart sets otherwise than the default. */
const CHART_VARIABLES = { GRPC_REFLECTION: 'false' };

/** The files of the container image, which all tests of a run share, and the processes that one test has started from them. */
export class ImageSystem {
  readonly folder: string;
  readonly processes = new Map<string, ReplicaProcess>();
  /** The lines that the processes have printed. */
  readonly lines: string[] = [];
  readonly #database: TestDatabase;
  readonly #simulators: Simulators;
  readonly #ports: Record<string, Ports>;
  readonly #shared: Shared;

  private constructor({ folder, database, simulators, ports, shared }: Parts) {
    this.folder = folder;
    this.#database = database;
    this.#simulators = simulators;
    this.#ports = ports;
    this.#shared = shared;
  }

  /** Writes the bundles, and starts the storage and the simulators, but no process. */
  static async prepare(): Promise<ImageSystem> {
    const [database, simulators, ports] = await Promise.all([createTestDatabase(), startSimulators(), choosePorts()]);
    const secret = () => [randomBytes(32).toString('hex')];
    const shared: Shared = {
      databaseUrl: database.url,
      databaseDirectUrl: undefined,
      redisUrl: await testRedisUrl(),
      roots: { internal: secret(), admin: secret() },
      chatUrl: simulators.chat,
      chatPublicKey: simulators.world.application.publicKey,
      gameUrl: simulators.game,
      oidcUrl: simulators.oidc,
      consoleUrl: `http://127.0.0.1:${ports['console']?.public}`,
      gatewayUrl: `http://127.0.0.1:${ports['gateway']?.public}`,
    };
    return new ImageSystem({ folder: await appFolder(), database, simulators, ports, shared });
  }

  get databaseUrl(): string {
    return this.#shared.databaseUrl;
  }

  get gatewayUrl(): string {
    return this.#shared.gatewayUrl;
  }

  get consoleUrl(): string {
    return this.#shared.consoleUrl;
  }

  /** Starts a process from its bundle, with the environment of the image; resolves when it is ready. */
  async start(deployable: Deployable, given: NodeJS.ProcessEnv = {}): Promise<ReplicaProcess> {
    const environment = environmentOf(deployable, this.#ports, this.#shared, {
      ...IMAGE_VARIABLES,
      ...CHART_VARIABLES,
      ...given,
    });
    const print = (line: string) => void this.lines.push(line);
    const started = await startReplicaProcess(this.path(deployable.name), environment, print);
    this.processes.set(deployable.name, started);
    return started;
  }

  /** Runs a program from its bundle to its end, by default with the variables of an operator. */
  async run(program: string, words: readonly string[], environment = this.#operator()): Promise<Finished> {
    const child = spawn(process.execPath, [this.path(program), ...words], {
      env: { ...IMAGE_VARIABLES, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const finished = { output: '', errors: '' };
    child.stdout.on('data', (text: Buffer) => (finished.output += text.toString()));
    child.stderr.on('data', (text: Buffer) => (finished.errors += text.toString()));
    const [status] = (await once(child, 'close')) as [number | null];
    return { ...finished, status };
  }

  /** The path of a program's bundle. */
  path(program: string): string {
    return join(this.folder, programFile(program));
  }

  #operator(): NodeJS.ProcessEnv {
    const addresses = Object.entries(this.#ports).map(([name, { grpc }]) => [
      `GUILDCTL_${name.toUpperCase()}`,
      grpc && `127.0.0.1:${grpc}`,
    ]);
    return { ...Object.fromEntries(addresses), ADMIN_SECRETS: this.#shared.roots.admin.join(',') };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.processes.values()].map((each) => each.kill()));
    await this.#simulators.stop();
    await this.#database.drop();
  }
}

async function choosePorts(): Promise<Record<string, Ports>> {
  const free = await freePorts(DEPLOYABLES.length * 4);
  const next = () => free.pop() as number;
  const entries = DEPLOYABLES.map(({ name, listens }) => {
    const listeners = listens.map((listener) => [listener, next()]);
    return [name, { admin: next(), ...Object.fromEntries(listeners) } as Ports];
  });
  return Object.fromEntries(entries);
}
