import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Program } from './child.ts';
import { privateFolder } from './files.ts';
import { freePorts, isPortFree } from './ports.ts';
import { ReloadingProgram } from './reloading-program.ts';

export type DevelopmentOptions = {
  repository: string;
  /** Where the lists of imported files are stored. */
  dataFolder: string;
  /** Opens a port for a debugger in each process. */
  inspect: boolean;
  report: (text: string) => void;
};

const FOLDERS = ['services', 'gateway', 'proto', 'deploy'];
const RECORDER = pathToFileURL(join(import.meta.dirname, 'record-imports.ts')).href;
/** An editor writes a file in several steps, each of which is reported. */
const SETTLE_MS = 30;
/** The first inspector port (Node's default); each further process gets the next port. */
const FIRST_INSPECT_PORT = 9229;

type Watched = { program: ReloadingProgram; started: () => void; record: string; earlierImports: Set<string> };

/** What `npm run dev` adds to `npm start`: restarts each process that imports a file when that file is saved. */
export class Development {
  readonly #options: DevelopmentOptions;
  readonly #records: string;
  readonly #processes = new Map<string, Watched>();
  readonly #inspectPorts = new Map<string, Promise<number>>();
  readonly #changed = new Set<string>();
  readonly #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DevelopmentOptions) {
    this.#options = options;
    this.#records = privateFolder(join(options.dataFolder, 'imports'));
  }

  /** Begins to watch the source. */
  start(): void {
    const { repository, report } = this.#options;
    report(`Watching ${FOLDERS.join(', ')}: a process restarts when a file that it imports is saved`);
    for (const folder of FOLDERS) {
      const watcher = watch(join(repository, folder), { recursive: true }, (_event, file) => {
        if (file === null) return;
        this.#changed.add(join(repository, folder, file));
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#reloadImporters(), SETTLE_MS);
      });
      this.#watchers.push(watcher.on('error', (error) => report(`Watching ${folder} failed: ${error.message}`)));
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  /** The program in a form that is restarted when a file that it imports changes; `started` is called after that. */
  reloading(program: Program, started: () => void): Program {
    const { report } = this.#options;
    const reloading = new ReloadingProgram(program, report);
    const record = join(this.#records, `${program.name}.txt`);
    this.#processes.set(program.name, { program: reloading, started, record, earlierImports: new Set() });
    return { name: program.name, spawn: () => reloading.spawn(), ready: () => reloading.ready() };
  }

  /** Options of Node for a process. */
  async nodeOptions(name: string): Promise<string[]> {
    const options = ['--import', RECORDER];
    if (this.#options.inspect) options.push(`--inspect=127.0.0.1:${await this.#inspectPort(name)}`);
    return options;
  }

  environment(name: string): NodeJS.ProcessEnv {
    return { IMPORT_RECORD: this.#processes.get(name)?.record };
  }

  /** The same port for each process of a name. */
  #inspectPort(name: string): Promise<number> {
    const { report } = this.#options;
    const choose = async (preferred: number) => {
      const [port = 0] = (await isPortFree(preferred)) ? [preferred] : await freePorts(1);
      report(`${name}: debugger port 127.0.0.1:${port}`);
      return port;
    };
    const port = this.#inspectPorts.get(name) ?? choose(FIRST_INSPECT_PORT + this.#inspectPorts.size);
    this.#inspectPorts.set(name, port);
    return port;
  }

  #reloadImporters(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    if (changed.some((path) => path.endsWith('.sql'))) {
      this.#options.report('A migration changed: migrations are applied when npm run dev starts');
    }
    for (const [name, watched] of this.#processes) {
      const imports = importsOf(watched);
      const file = changed.find((path) => imports.has(path));
      if (file !== undefined) void this.#reload(name, watched, imports, file);
    }
  }

  async #reload(name: string, watched: Watched, imports: Set<string>, file: string): Promise<void> {
    const begun = performance.now();
    // A process that fails to start may not have got to all of its imports.
    watched.earlierImports = imports;
    const { repository, report } = this.#options;
    if ((await watched.program.reload()) !== 'ready') return;
    watched.earlierImports = new Set();
    const seconds = ((performance.now() - begun) / 1000).toFixed(2);
    report(`${name} restarted in ${seconds} s (process ${watched.program.pid}): ${relative(repository, file)} changed`);
    watched.started();
  }
}

function importsOf({ record, earlierImports }: Watched): Set<string> {
  return new Set([...earlierImports, ...readLines(record)]);
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(0, -1);
  } catch {
    // The process has not been started yet.
    return [];
  }
}
