import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LuauFunction, LuauState } from './luau-state.ts';

const FILES = ['scheduler', 'objects', 'json', 'http', 'storage', 'players', 'scripts', 'game', 'bootstrap'] as const;
const FOLDER = join(import.meta.dirname, 'luau');

let sources: Promise<string[]> | undefined;

/** The Luau VM of one game server, with the stand-ins of the engine in `luau/`. */
export class LuauVm {
  readonly #state: LuauState;
  readonly #pump: LuauFunction;
  readonly #addChunk: LuauFunction;
  #chunks = 0;

  private constructor(state: LuauState, pump: LuauFunction, addChunk: LuauFunction) {
    this.#state = state;
    this.#pump = pump;
    this.#addChunk = addChunk;
  }

  /** `modules` get the numbers of their chunks, from 1 on, in this order. */
  static async create(options: object, modules: readonly { path: string; source: string }[]): Promise<LuauVm> {
    sources ??= Promise.all(FILES.map(async (name) => await readFile(join(FOLDER, `${name}.luau`), 'utf8')));
    const texts = await sources;
    const state = await LuauState.create();
    const loaded: unknown[] = [];
    for (const [index, source] of texts.entries()) {
      const chunk = state.load(source, `=engine/${FILES[index]}`);
      loaded.push((await chunk())[0]);
    }
    const bootstrap = loaded.pop() as LuauFunction;
    const [pump, addChunk] = (await bootstrap(...loaded, JSON.stringify(options))) as [LuauFunction, LuauFunction];
    const vm = new LuauVm(state, pump, addChunk);
    for (const module of modules) await vm.compile(module.source, module.path);
    return vm;
  }

  /** Compiles a script, and returns the number of its chunk. A syntax error is thrown. */
  async compile(source: string, path: string): Promise<number> {
    const chunk = this.#state.load(source, `=${path}`);
    const number = ++this.#chunks;
    await this.#addChunk(number, chunk);
    return number;
  }

  /** Tells the scripts what has happened and lets them run. Calls must not overlap. */
  async pump(now: number, events: readonly object[]): Promise<{ due: number | undefined; effects: Effect[] }> {
    const [due, effects] = (await this.#pump(now / 1000, JSON.stringify(events))) as [number, string];
    return { due: due < 0 ? undefined : due * 1000, effects: JSON.parse(effects) as Effect[] };
  }
}

/** What the scripts ask the host for. */
export type Effect =
  | { kind: 'output'; level: 'print' | 'warn'; text: string }
  | { kind: 'error'; text: string; trace: string }
  | { kind: 'finished'; chunk: number; success: boolean; value?: string; text?: string; trace?: string }
  | { kind: 'closed' }
  | { kind: 'playerRemoved'; userId: number; reason?: string }
  | HttpEffect
  | DataStoreEffect
  | { kind: 'dataStoreBudget'; id: number; type: string }
  | { kind: 'publish'; id: number; topic: string; message: string }
  | { kind: 'subscribe'; id: number; topic: string }
  | { kind: 'unsubscribe'; subscription: number };

export interface HttpEffect {
  kind: 'http';
  id: number;
  url: string;
  method: string;
  headers?: Record<string, string>;
  body?: string;
  gzip: boolean;
  timeout?: number;
  /** Where the secrets of the URL and headers may be sent. */
  domains: string[];
}

export interface DataStoreEffect {
  kind: 'dataStore';
  id: number;
  operation: 'get' | 'set' | 'remove' | 'read' | 'replace';
  store: string;
  key: string;
  value?: string;
  version?: number;
}
