import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Roots } from '#kit/security/process-keys.ts';
import { readRoots } from '#kit/service/root-secrets.ts';
import { migrateAll } from '../migrate.ts';
import type { Program } from './child.ts';
import type { ConsoleSetUp, ConsoleUp } from './console.ts';
import type { Demo } from './demo/demo.ts';
import type { Development } from './development.ts';
import { ensureSecret, privateFolder, writePrivately } from './files.ts';
import type { Operator } from './guildctl.ts';
import { LogFile } from './logs.ts';
import { nodeProgram } from './node-program.ts';
import { freePorts, untilPortFree } from './ports.ts';
import { preparePostgres } from './postgres.ts';
import { type Deployable, environmentOf, type Ports, type Shared, withoutOthers } from './processes.ts';
import type { Programs } from './programs.ts';
import { prepareRedis } from './redis.ts';
import type { Settings } from './settings.ts';
import { Application } from './simulators/chat/interactions/application.ts';
import { Supervisor } from './supervisor.ts';

/** The addresses of the simulated platforms, of the simulated receiver of webhooks, and of the simulated OpenID provider. */
type Simulated = { chat: string; game: string; receiver: string; oidc: string };

/** The content of `up.json`. */
export type Up = {
  pid: number;
  gateway: string;
  /** Missing if the system has no console. */
  console?: ConsoleUp | undefined;
  services: Record<string, { pid: number; http?: string | null; grpc?: string; admin: string }>;
  simulators: Simulated;
  database: string;
  redis: string | null;
  demo: Demo;
};

export type DemoMaker = (options: {
  folder: string;
  gateway: string;
  operator: Operator;
  receiver: string;
}) => Promise<Demo>;

export type SystemOptions = {
  settings: Settings;
  repository: string;
  programs: Programs;
  deployables: readonly Deployable[];
  /** Path of the simulators' main file below the repository. */
  simulators: string;
  makeDemo: DemoMaker;
  /** Undefined in tests whose console is not the real one. */
  console?: ConsoleSetUp | undefined;
  environment: NodeJS.ProcessEnv;
  report: (text: string) => void;
  isTerminal: boolean;
  /** Restarts processes when their source changes; undefined for `npm start`. */
  development?: Development | undefined;
};

/** Storage, simulators, services and gateway on one machine. An instance is started once and stopped once. */
export class System {
  private readonly options: SystemOptions;
  private readonly folder: string;
  private readonly supervisor: Supervisor;
  private up: Up | undefined;
  /** The main file of a program; set once the programs are prepared. */
  private mainOf!: Awaited<ReturnType<Programs>>;
  private readonly stopping = new AbortController();
  /** Resolves when no part of the storage is being started any more; never rejects. */
  private storage: Promise<unknown> = Promise.resolve();

  constructor(options: SystemOptions) {
    this.options = options;
    this.folder = privateFolder(options.settings.dataFolder);
    this.supervisor = new Supervisor({ report: options.report, restarted: () => this.announce() });
  }

  /** Starts everything. Writes `up.json` once all of it is ready and not before. */
  async start(): Promise<Up> {
    const { settings } = this.options;
    rmSync(this.upFile, { force: true });
    const ports = await this.choosePorts();
    const programs = this.options.programs(settings).then((mainOf) => {
      this.mainOf = mainOf;
      return this.startSimulators();
    });
    const storage = [this.startDatabase(), this.startRedis(), programs] as const;
    this.storage = Promise.allSettled(storage);
    const [database, redis, simulators] = await Promise.all(storage);
    const gateway = `http://127.0.0.1:${ports['gateway']?.public ?? settings.gatewayPort}`;
    const shared: Shared = {
      databaseUrl: database,
      databaseDirectUrl: settings.databaseDirectUrl,
      redisUrl: redis,
      roots: this.roots(),
      chatUrl: simulators.chat,
      chatPublicKey: new Application(this.applicationSeed).publicKey,
      gameUrl: simulators.game,
      oidcUrl: simulators.oidc,
      consoleUrl: settings.consoleUrl ?? `http://127.0.0.1:${ports['console']?.public ?? settings.consolePort}`,
      gatewayUrl: gateway,
    };
    await this.migrate(settings.databaseDirectUrl ?? database);
    await this.startDeployables(ports, shared);
    const operator = {
      guildctl: this.mainOf('guildctl', 'services/cli/main.ts'),
      authAddress: `127.0.0.1:${ports['auth']?.grpc}`,
      adminSecret: shared.roots.admin.join(','),
    };
    const demo = await this.options.makeDemo({
      folder: this.folder,
      gateway,
      operator,
      receiver: simulators.receiver,
    });
    const link = await this.options.console?.createLink({ guildId: demo.guild_id, ...operator });
    const console = link === undefined ? undefined : { url: shared.consoleUrl, link };
    const up = {
      pid: process.pid,
      gateway,
      console,
      services: this.services(ports),
      simulators,
      database,
      redis,
      demo,
    };
    this.stopping.signal.throwIfAborted();
    this.up = up;
    this.announce();
    return up;
  }

  /** Stops everything within 10 s. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('stopping'));
    rmSync(this.upFile, { force: true });
    this.up = undefined;
    await Promise.all([this.supervisor.stop(), this.storage]);
  }

  private get upFile(): string {
    return join(this.folder, 'up.json');
  }

  /** Writes `up.json` atomically, with the present process IDs. */
  private announce(): void {
    if (!this.up) return;
    for (const [name, service] of Object.entries(this.up.services)) service.pid = this.supervisor.pid(name) ?? 0;
    writePrivately(this.upFile, `${JSON.stringify(this.up, null, 2)}\n`);
  }

  /** The secret that the operator has set; otherwise one that is generated once and stored in a file. */
  private secret(variable: string, file: string): string {
    return this.options.environment[variable] || ensureSecret(join(this.secretsFolder, file));
  }

  private get secretsFolder(): string {
    return privateFolder(join(this.folder, 'secrets'));
  }

  /** The root secrets from which the keys of all processes are derived. Only this process and guildctl hold them. */
  private roots(): Roots {
    return readRoots({
      INTERNAL_SECRETS: this.secret('INTERNAL_SECRETS', 'internal'),
      ADMIN_SECRETS: this.secret('ADMIN_SECRETS', 'admin'),
    });
  }

  /** From this the key is derived with which the simulated chat platform signs slash commands. */
  private get applicationSeed(): string {
    return ensureSecret(join(this.secretsFolder, 'simulated-application'));
  }

  private async migrate(database: string): Promise<void> {
    try {
      for (const name of await migrateAll(database)) this.options.report(`Migrated ${name}`);
    } catch (cause) {
      const isGiven = this.options.settings.databaseUrl !== undefined;
      const which = isGiven ? 'the database that DATABASE_URL names' : 'the database';
      throw new Error(`${which} could not be migrated: ${messageOf(cause)}`, { cause });
    }
  }

  private async choosePorts(): Promise<Record<string, Ports>> {
    const { deployables, settings } = this.options;
    const fixed: Record<string, { port: number; variable: string }> = {
      gateway: { port: settings.gatewayPort, variable: 'GATEWAY_PORT' },
      console: { port: settings.consolePort, variable: 'CONSOLE_PORT' },
    };
    for (const { name } of deployables) if (fixed[name]) await untilPortFree(fixed[name]);
    const count = deployables.reduce((sum, { listens }) => sum + listens.length + 1, 0);
    const free = await freePorts(count);
    const next = (): number => free.pop() ?? 0;
    const portsOf = ({ name, listens }: Deployable): Ports => ({
      admin: next(),
      ...Object.fromEntries(listens.map((listener) => [listener, next()])),
      ...(fixed[name]?.port ? { public: fixed[name].port } : {}),
    });
    return Object.fromEntries(deployables.map((deployable) => [deployable.name, portsOf(deployable)]));
  }

  private async startDatabase(): Promise<string> {
    const { settings, report } = this.options;
    if (settings.databaseUrl !== undefined) return settings.databaseUrl;
    const folder = join(this.folder, 'postgres');
    if (!existsSync(join(folder, 'data'))) report('Creating the database, the first time only …');
    const { url, program } = await preparePostgres({ folder, log: this.log('postgres'), signal: this.stopping.signal });
    await this.supervisor.run({ ...program, stage: 'storage' });
    report('PostgreSQL is ready');
    return url;
  }

  private async startRedis(): Promise<string | null> {
    const { settings, report } = this.options;
    if (settings.redisUrl !== undefined) return settings.redisUrl;
    const password = ensureSecret(join(this.secretsFolder, 'redis'));
    const prepared = await prepareRedis({ folder: join(this.folder, 'redis'), password, log: this.log('redis') });
    if (prepared === null) {
      report('No redis-server or valkey-server found: limits and caches are in memory, which only suits one gateway');
      return null;
    }
    await this.supervisor.run({ ...prepared.program, stage: 'storage' });
    report('Redis is ready');
    return prepared.url;
  }

  private async startSimulators(): Promise<Simulated> {
    const [chatPort = 0, gamePort = 0, receiverPort = 0, oidcPort = 0] = await freePorts(4);
    const environment = {
      ...withoutOthers(this.options.environment),
      CHAT_SIMULATOR_PORT: String(chatPort),
      GAME_SIMULATOR_PORT: String(gamePort),
      RECEIVER_SIMULATOR_PORT: String(receiverPort),
      OIDC_SIMULATOR_PORT: String(oidcPort),
      SIMULATOR_APPLICATION_SEED: this.applicationSeed,
    };
    const [chat, game] = [`http://127.0.0.1:${chatPort}`, `http://127.0.0.1:${gamePort}`];
    const receiver = `http://127.0.0.1:${receiverPort}`;
    const worlds = [`${chat}/__world`, `${game}/__world`];
    const program = this.nodeProgram('simulators', this.options.simulators, environment, worlds);
    await this.supervisor.run({ ...program, stage: 'service' });
    this.options.report('The simulated chat and game platforms and the receiver of webhooks are ready');
    return { chat, game, receiver, oidc: `http://127.0.0.1:${oidcPort}` };
  }

  private async startDeployables(ports: Record<string, Ports>, shared: Shared): Promise<void> {
    await Promise.all(
      this.options.deployables.map(async (deployable) => {
        const { name, main, listens } = deployable;
        const environment = environmentOf(deployable, ports, shared, this.options.environment);
        const program = this.nodeProgram(name, main, environment, [`http://127.0.0.1:${ports[name]?.admin}/readyz`]);
        await this.supervisor.run({ ...program, stage: listens.includes('public') ? 'edge' : 'service' });
        this.options.report(`${name} is ready`);
      }),
    );
  }

  /** One of our own programs, which is ready when each of these URLs responds with 200. */
  private nodeProgram(name: string, main: string, environment: NodeJS.ProcessEnv, readyUrls: string[]): Program {
    const { isTerminal, report, development } = this.options;
    const program = nodeProgram({
      name,
      main: this.mainOf(name, main),
      environment,
      readyUrls,
      log: this.log(name),
      dataFolder: this.folder,
      isTerminal,
      report,
      development,
    });
    return development?.reloading(program, () => this.announce()) ?? program;
  }

  private log(name: string): LogFile {
    return new LogFile(join(privateFolder(join(this.folder, 'logs')), `${name}.log`));
  }

  private services(ports: Record<string, Ports>): Up['services'] {
    return Object.fromEntries(
      this.options.deployables.map(({ name, listens }) => [name, addressesOf(listens, ports[name] ?? { admin: 0 })]),
    );
  }
}

/** The addresses of one process as `up.json` lists them. `pid` is set when the file is written. */
function addressesOf(listens: Deployable['listens'], ports: Ports): Up['services'][string] {
  const admin = `http://127.0.0.1:${ports.admin}`;
  if (listens.includes('public')) return { pid: 0, admin };
  const http = ports.http === undefined ? null : `http://127.0.0.1:${ports.http}`;
  return { pid: 0, http, grpc: `127.0.0.1:${ports.grpc}`, admin };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
