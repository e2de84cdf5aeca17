import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { internalKeysOf, parseKeys } from '#kit/security/process-keys.ts';
import { KEY_HOLDERS } from '#kit/security/purposes.ts';
import { type RunningPostgres, startPostgres, VOLATILE } from '#local/postgres.ts';
import type { Up } from '#local/system.ts';
import { guildctl } from '#services/cli/guildctl.ts';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { type RedisNode, startRedisNode } from '../redis/nodes.ts';
import { appFolder } from './app.ts';
import { Canaries } from './canaries.ts';
import { processesUsing, type RunningScript, runScript } from './processes.ts';

const PANIC = join(import.meta.dirname, '../failure/fixtures/panic.ts');

/** The time that a part of the system may take to start or to recover. */
export const WAIT = { timeout: 60_000, interval: 50 };

const secret = () => randomBytes(24).toString('base64url');

/** All keys of all processes, derived from each of the root secrets. */
function derivedKeys({ internal, olderInternal, admin }: Record<'internal' | 'olderInternal' | 'admin', string>) {
  const roots = { internal: [internal, olderInternal], admin: [admin] };
  const keys = new Map(KEY_HOLDERS.flatMap((name) => [...parseKeys(internalKeysOf(name, roots))]));
  return [...keys].flatMap(([purpose, all]) =>
    all.map((key, age) => [`key ${age} of ${purpose}`, key.toString('base64url')] as const),
  );
}

/**
 * `npm start` with servers of its own, in which every secret is a canary and all processes log at the lowest level.
 * SIGUSR2 makes a process crash.
 */
export class CanarySystem {
  readonly canaries = new Canaries();
  readonly secrets = {
    internal: `${secret()}-internal`,
    olderInternal: `${secret()}-internal`,
    admin: `${secret()}-admin`,
    redis: secret(),
    bot: `${secret()}.bot`,
    game: secret(),
  };
  readonly folder = mkdtempSync(join(tmpdir(), 'guild-data-secrets-'));
  postgres!: RunningPostgres;
  redis!: RedisNode;
  /** The proxy between all processes and the database. */
  databaseProxy!: TcpProxy;
  #script!: RunningScript;
  #appFolder!: string;
  readonly #stops: (() => Promise<unknown>)[] = [];

  async start(): Promise<void> {
    this.#appFolder = await appFolder();
    this.postgres = await startPostgres({ folder: join(this.folder, 'postgres'), settings: VOLATILE });
    this.#stops.push(() => this.postgres.stop());
    mkdirSync(join(this.folder, 'redis'));
    this.redis = await startRedisNode(join(this.folder, 'redis'), [`requirepass ${this.secrets.redis}`]);
    this.#stops.push(() => this.redis.stop());
    this.databaseProxy = await startTcpProxy(Number(new URL(this.postgres.url).port));
    this.#stops.push(() => this.databaseProxy.close());
    for (const [name, text] of Object.entries(this.secrets)) this.canaries.add(name, text);
    for (const [name, text] of derivedKeys(this.secrets)) this.canaries.add(name, text);
    this.canaries.add('database password', new URL(this.postgres.url).password);
    this.#script = runScript([process.execPath, pathOf('deploy/local/start.ts')], this.environment());
    this.#stops.push(async () => {
      this.#script.process.kill('SIGTERM');
      await this.#script.ended;
    });
    await vi.waitFor(() => this.up, WAIT);
    this.canaries.addKey('demo key', this.up.demo.key);
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
    rmSync(this.folder, { recursive: true });
  }

  get up(): Up {
    if (this.#script.process.exitCode !== null) throw new Error(this.#script.output());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return JSON.parse(readFileSync(join(this.folder, 'data', 'up.json'), 'utf8')) as Up;
  }

  get redisUrl(): string {
    return `redis://:${this.secrets.redis}@127.0.0.1:${this.redis.port}`;
  }

  /** The environment of `npm start`. */
  environment(): NodeJS.ProcessEnv {
    const database = new URL(this.postgres.url);
    database.port = String(this.databaseProxy.port);
    return {
      DATA_DIR: join(this.folder, 'data'),
      APP_FOLDER: this.#appFolder,
      GATEWAY_PORT: '0',
      DATABASE_URL: database.href,
      REDIS_URL: this.redisUrl,
      INTERNAL_SECRETS: `${this.secrets.internal},${this.secrets.olderInternal}`,
      ADMIN_SECRETS: this.secrets.admin,
      CHAT_BOT_TOKEN: this.secrets.bot,
      GAME_API_KEY: this.secrets.game,
      LOG_LEVEL: 'trace',
      NODE_OPTIONS: `--import=${PANIC}`,
    };
  }

  /** Runs the program in a file to its end and returns its output, which is searched too. */
  async run(file: string, environment: NodeJS.ProcessEnv): Promise<string> {
    const program = runScript([process.execPath, file], { ...environment, NODE_OPTIONS: '' });
    await program.ended;
    this.canaries.place('what programs print', program.output());
    return program.output();
  }

  /** Runs guildctl and returns its output, which is searched unless it shows a new key. */
  async guildctl(words: string[], { isSearched = true, admin = this.secrets.admin } = {}): Promise<string> {
    let said = '';
    const say = (text: string) => void (said += text);
    const environment = { ADMIN_SECRETS: admin, DATA_DIR: join(this.folder, 'data') };
    await guildctl(words, { environment, user: 'test', out: say, error: say });
    if (isSearched) this.canaries.place('what programs print', said);
    return said;
  }

  /** Creates a key with a guildctl command. */
  async newKey(name: string, ...words: string[]): Promise<{ id: string; key: string }> {
    const made = await this.guildctl([...words, '--json'], { isSearched: false });
    const { id, key } = JSON.parse(made) as { id: string; key: string };
    this.canaries.addKey(name, key);
    return { id, key };
  }

  /** Makes a request to the gateway. The response is searched unless it shows a token. */
  async call(path: string, init: RequestInit = {}, isSearched = true): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.up.gateway}/api/v1${path}`, init);
    const text = await response.text();
    if (isSearched) this.canaries.place('answers', `${text}\n${JSON.stringify([...response.headers])}`);
    return { status: response.status, text };
  }

  /** The text of the log files of all processes so far. */
  logs(): string {
    const files = ['data/logs', 'postgres', `redis/${this.redis.port}`].flatMap((name) =>
      readdirSync(join(this.folder, name))
        .filter((file) => /\.log(\.1)?$/.test(file))
        .map((file) => join(this.folder, name, file)),
    );
    return files.map((file) => readFileSync(file, 'utf8')).join('\n');
  }

  async metrics(): Promise<string> {
    const pages = await Promise.all(
      Object.values(this.up.services).map(async ({ admin }) => (await fetch(`${admin}/metrics`)).text()),
    );
    return pages.join('\n');
  }

  /** The command lines of all processes, which every user of the machine can read. */
  commandLines(): string {
    return processesUsing(this.folder).join('\n');
  }

  /** The output of `npm start` without the demo key, which it prints on purpose. */
  printed(): string {
    return this.#script.output().replaceAll(this.up.demo.key, '');
  }
}
