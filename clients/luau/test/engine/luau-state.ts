import createModule from 'luau-web/src/lib/Luau.Web.Asyncify.js';

export type LuauFunction = (...values: unknown[]) => Promise<unknown[]>;

/** The parts of the library's WebAssembly module that are used here. */
interface LuauModule {
  states: { transactionData: unknown[]; nextTXKey: number }[];
  _makeLuaState(index: number): Promise<number> | number;
  _luauLoad(state: number, source: number, name: number): number;
  _getLuaValue(state: number, index: number): number;
  luauToJsValue(index: number, state: number, value: unknown): unknown;
}

const STATE_INDEX = 1;

/**
 * A Luau VM with a WebAssembly module of its own. The library's own `LuauState` does not fit: all of its states share
 * 17 MB, which are not freed, and with engines that can suspend WebAssembly it uses a build in which `pcall` lets
 * every error through.
 */
export class LuauState {
  readonly #module: LuauModule;
  readonly #state: number;

  private constructor(module: LuauModule, state: number) {
    this.#module = module;
    this.#state = state;
  }

  static async create(): Promise<LuauState> {
    const host = {
      LUA_VALUE: Symbol('LuaValue'),
      JS_VALUE: Symbol('JsValue'),
      JS_MUTABLE: Symbol('JsMutable'),
      securityTransmitList: new Map(),
      options: new Map([['LUA_IMPLICIT_ARRAYS_TO_JS_ARRAYS', true]]),
      states: [] as object[],
    };
    const module = Object.assign(host, await createModule(host)) as unknown as LuauModule & typeof host;
    host.states[STATE_INDEX] = {
      luaValueCache: new Map(),
      jsValueCache: new Map(),
      jsValueReverse: new Map(),
      transactionData: [],
      nextJSRef: -1,
      nextTXKey: 0,
    };
    return new LuauState(module, await module._makeLuaState(STATE_INDEX));
  }

  /** Compiles a chunk; a syntax error is thrown. */
  load(source: string, name: string): LuauFunction {
    const failed = this.#module._luauLoad(this.#state, this.#transaction(source), this.#transaction(name)) !== 0;
    const value = this.#top();
    if (failed || typeof value !== 'function') throw new Error(String(value));
    return value as LuauFunction;
  }

  #transaction(value: unknown): number {
    const own = this.#own();
    const key = own.nextTXKey++;
    own.transactionData[key] = value;
    return key;
  }

  // Everything that enters or leaves the VM passes through this array.
  #own(): LuauModule['states'][number] {
    return this.#module.states[STATE_INDEX] as LuauModule['states'][number];
  }

  #top(): unknown {
    const data = this.#own().transactionData[this.#module._getLuaValue(this.#state, -1)];
    return this.#module.luauToJsValue(STATE_INDEX, this.#state, JSON.parse(data as string));
  }
}
