import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request as sendRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { systemClock } from '#kit/clock.ts';
import { ConsoleAdminServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { openStream } from '#test/network/event-stream.ts';
import { connect } from '#test/network/grpc.ts';
import { GUILD, type Network, type NetworkOptions, startNetwork } from '#test/system/system.ts';
import { SESSION_COOKIE } from './http/cookies.ts';

export { GUILD, OTHER_GUILD } from '#test/system/system.ts';

export interface BrowserRequest {
  method?: string;
  /** Sent as JSON, or unchanged if it is a string. */
  body?: unknown;
  /** Replace the headers that the app sends; undefined leaves one out. */
  headers?: Record<string, string | undefined>;
  guildId?: string;
}

export interface BrowserResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests inspect any response
  json: any;
}

/** Sends requests as the app does, in the session of one person. */
export class Browser {
  readonly url: string;
  readonly token: string;
  csrfToken = '';

  constructor(url: string, token = '') {
    this.url = url;
    this.token = token;
  }

  get cookie(): string {
    return `${SESSION_COOKIE}=${this.token}`;
  }

  /** Makes a request and reads the whole response. */
  async send(path: string, { method = 'GET', body, headers, guildId }: BrowserRequest = {}): Promise<BrowserResponse> {
    const given: Record<string, string | undefined> = {
      ...(this.token && { cookie: this.cookie }),
      ...(guildId && { 'x-guild-id': guildId }),
      ...(method !== 'GET' && { origin: this.url, 'x-csrf-token': this.csrfToken }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
    const sent = Object.fromEntries(
      Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined),
    );
    const bytes = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    return exchange(this.url + path, { method, headers: sent }, bytes);
  }

  /** Sends a request of the REST API. */
  api(path: string, options: BrowserRequest = {}): Promise<BrowserResponse> {
    return this.send(`/api/v1${path}`, { guildId: GUILD, ...options });
  }

  /** Opens the stream of events of a guild. */
  events(guildId = GUILD, lastEventId?: number) {
    const headers: Record<string, string> = { cookie: this.cookie };
    if (lastEventId !== undefined) headers['last-event-id'] = String(lastEventId);
    return openStream(`${this.url}/console/guilds/${guildId}/events`, headers);
  }
}

/** Makes a request on a connection of its own. */
export async function exchange(url: string, options: RequestOptions, body?: string): Promise<BrowserResponse> {
  const request = sendRequest(url, { agent: false, ...options });
  const received = once(request, 'response') as Promise<[IncomingMessage]>;
  request.end(body);
  const [response] = await received;
  const content = await text(response);
  const isJson = response.headers['content-type']?.startsWith('application/json');
  const json = isJson && content !== '' ? JSON.parse(content) : undefined;
  return { status: response.statusCode ?? 0, headers: response.headers, text: content, json };
}

/** A whole system with the console. */
export class ConsoleFixture {
  readonly network: Network;
  readonly #closers: (() => void)[] = [];

  private constructor(network: Network) {
    this.network = network;
  }

  /** Starts the system with two guilds that have keys. */
  static async start(options: NetworkOptions = {}): Promise<ConsoleFixture> {
    const fixture = new ConsoleFixture(await startNetwork({ ...options, console: true }));
    await fixture.network.createKey({ guildId: GUILD });
    return fixture;
  }

  async stop(): Promise<void> {
    for (const close of this.#closers) close();
    await this.network.stop();
  }

  get url(): string {
    return `http://${this.network.address('console', 'http')}`;
  }

  /** `host:port` of the console. */
  get address(): string {
    return this.network.address('console', 'http');
  }

  /** Creates a one-time link and returns its token. */
  async createLink(role = 'owner', guildId = GUILD): Promise<string> {
    const { secrets } = this.network;
    const address = this.network.address('auth', 'grpc');
    const { client, close } = connect(ConsoleAdminServiceService, 'auth', address, systemClock, [secrets.admin]);
    this.#closers.push(close);
    const { url } = await client.createLink({ guildId, role, actor: 'test' });
    return url.split('#')[1] ?? '';
  }

  /** Signs a new person in with a one-time link. */
  async signIn(role = 'owner', guildId = GUILD): Promise<Browser> {
    const token = await this.createLink(role, guildId);
    const response = await new Browser(this.url).send('/console/sign-in/link', { method: 'POST', body: { token } });
    const browser = new Browser(this.url, sessionTokenIn(response));
    const session = await browser.send('/console/session');
    browser.csrfToken = session.json.data.csrf_token;
    return browser;
  }

  /** Returns the value of a metric of the console with these labels. */
  async metric(name: string, labels = ''): Promise<number | undefined> {
    const { text: metrics } = await exchange(`http://${this.network.address('console', 'admin')}/metrics`, {});
    const line = metrics.split('\n').find((one) => one.startsWith(`${name}${labels} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  }
}

/** Returns the session token in the Set-Cookie headers of a response. */
export function sessionTokenIn({ headers }: BrowserResponse): string {
  const found = headers['set-cookie']?.find((value) => value.startsWith(`${SESSION_COOKIE}=`)) ?? '';
  return found.slice(SESSION_COOKIE.length + 1, found.indexOf(';'));
}
