import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { VirtualClock } from './engine/clock.ts';
import { createEngine, type Engine, type EngineOptions, Universe } from './engine/engine.ts';
import type { HttpRequest, HttpResponse } from './engine/http.ts';
import { readModules } from './engine/modules.ts';

export const SOURCE = join(import.meta.dirname, '../src');
export const GUILD = '900000000000000001';
export const KEY = `service_${GUILD}_0123456789abcdefABCDEF`;
export const BASE_URL = 'https://api.example.com';

/** A result as Luau returns it. */
export interface Result {
  ok: boolean;
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests inspect any response
  data?: any;
  code?: string;
  message?: string;
  details?: Record<string, unknown>;
  retry_after?: number;
  request_id: string;
  replayed?: boolean;
}

export type Respond = (request: HttpRequest, index: number) => Partial<HttpResponse> | Promise<Partial<HttpResponse>>;

export interface PlaceOptions extends EngineOptions {
  respond?: Respond;
  /** Further settings of `GuildData.new`, as the fields of a Luau table. */
  settings?: string;
}

/** A game server with the module, whose requests a test responds to, in simulated time. */
export class Place {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  readonly #settings: string;

  constructor(engine: Engine, clock: VirtualClock, settings: string) {
    this.engine = engine;
    this.clock = clock;
    this.#settings = settings;
  }

  /** Runs a script that has `GuildData` and `guild`, and returns its result. */
  async run<T = Result>(script: string): Promise<T> {
    const source = `
      local GuildData = require(script.Parent.GuildData)
      local HttpService = game:GetService("HttpService")
      local guild = GuildData.new({ ${this.#settings} })
      ${script}`;
    return await this.clock.until(this.engine.run<T>(source), 3_600_000);
  }

  /** The requests with the seconds at which they were sent, counted from the first one. */
  get times(): number[] {
    const [first] = this.engine.requests;
    return this.engine.requests.map(({ at }) => (at - (first?.at ?? 0)) / 1000);
  }

  get warnings(): string[] {
    return this.engine.output.filter(({ level }) => level === 'warn').map(({ text }) => text);
  }
}

export async function startPlace({ respond, settings, ...options }: PlaceOptions = {}): Promise<Place> {
  const clock = new VirtualClock();
  let count = 0;
  const transport = async (request: HttpRequest): Promise<HttpResponse> => {
    const response = await (respond ?? (() => success({})))(request, count++);
    return { status: 200, message: '', headers: {}, body: '', ...response };
  };
  const engine = await createEngine({
    universe: new Universe({ clock }),
    modules: options.modules ?? [await readModules(SOURCE, 'GuildData')],
    secrets: { guild_data_key: { value: KEY, domain: 'api.example.com' } },
    transport,
    ...options,
  });
  onTestFinished(async () => {
    await engine.crash();
  });
  return new Place(engine, clock, settings ?? `guildId = "${GUILD}", baseUrl = "${BASE_URL}"`);
}

/** A response of the API with data. */
export const success = (data: object, headers: Record<string, string> = {}): Partial<HttpResponse> => ({
  status: 200,
  headers: { 'x-request-id': 'req-1', ...headers },
  body: JSON.stringify({ status: 'success', code: 200, message: 'OK', data }),
});

/** An error response of the API. */
export const failure = (
  status: number,
  code: string,
  headers: Record<string, string> = {},
  details: object = {},
): Partial<HttpResponse> => ({
  status,
  headers: { 'x-request-id': 'req-2', ...headers },
  body: JSON.stringify({
    status: 'error',
    code: status,
    message: `Failed with ${code}`,
    details: { code, ...details },
  }),
});
