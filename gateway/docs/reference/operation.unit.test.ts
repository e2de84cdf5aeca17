import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_PREFIX } from '#proto/rest/route.ts';
import { createEngine, type Engine } from '../../../clients/luau/test/engine/engine.ts';
import type { HttpRequest } from '../../../clients/luau/test/engine/http.ts';
import { operationIdOf } from '../../openapi/operation-id.ts';
import { codeIn, HOSTILE, reference, routes } from '../fixture.ts';
import { unescapeHtml } from '../html.ts';

const GUILD = '123456789012345678';
const API = 'http://localhost:8080';

const sections = new Map(
  reference.flatMap((page) =>
    [...page.matchAll(/<article id="(\w+)">(.*?)<\/article>/gs)].map(([, id, text]) => [id, text] as const),
  ),
);

function sectionOf(name: string): string {
  const section = sections.get(name);
  if (section === undefined) throw new Error(`the reference has no ${name}`);
  return section;
}

/** A request as an example sends it. */
interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** The request that curl would send when a shell runs these lines. */
function sentByCurl(lines: string): Sent {
  const settings = `curl() { printf '%s\\0' "$@"; }; API=${API} KEY=secret GUILD=${GUILD}`;
  const { stdout, stderr } = spawnSync('sh', ['-c', `${settings}\n${lines}`], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const given = stdout.split('\0').slice(0, -1);
  const after = (option: string) => given.flatMap((argument, index) => (given[index - 1] === option ? [argument] : []));
  const [body] = after('-d');
  return {
    method: after('-X')[0] ?? (body === undefined ? 'GET' : 'POST'),
    url: given.find((argument) => argument.startsWith(API)) ?? '',
    headers: headersOf(after('-H').map((header) => header.split(': ') as [string, string])),
    body,
  };
}

async function sentByTypescript(code: string): Promise<Sent> {
  let sent: Sent | undefined;
  const fetch = async (url: string, { method = 'GET', headers = {}, body }: RequestInit = {}) => {
    sent = { method, url, headers: headersOf(Object.entries(headers)), body: body as string | undefined };
    return new Response('{"data":{}}');
  };
  const AsyncFunction = (async () => undefined).constructor as new (...parts: string[]) => typeof run;
  const run: (...values: unknown[]) => Promise<unknown> = new AsyncFunction(
    'API',
    'KEY',
    'GUILD',
    'fetch',
    'console',
    code,
  );
  await run(API, 'secret', GUILD, fetch, { log: () => undefined });
  if (!sent) throw new Error('the example sent nothing');
  return sent;
}

const requests: HttpRequest[] = [];
let engine: Engine;

beforeAll(async () => {
  const transport = async (request: HttpRequest) => {
    requests.push(request);
    return { status: 200, message: 'OK', headers: {}, body: '{"data":{}}' };
  };
  engine = await createEngine({ transport });
});
afterAll(() => engine.crash());

async function sentByLuau(code: string): Promise<Sent> {
  const settings = `local HttpService = game:GetService("HttpService")
local API, KEY, GUILD = "${API}", "secret", "${GUILD}"`;
  await engine.run(`${settings}\n${code}`);
  const request = requests.pop();
  if (!request) throw new Error('the example sent nothing');
  const { method, url, headers, body } = request;
  return { method, url, headers: headersOf(Object.entries(headers)), body: body?.toString() };
}

/** Headers with names in lower case, without those that an engine adds. */
function headersOf(entries: [string, string][]): Record<string, string> {
  const wanted = ['x-api-key', 'x-guild-id', 'content-type'];
  const lower = entries.map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(lower.filter(([name]) => wanted.includes(name)));
}

describe.each(routes.map((row) => [operationIdOf(row), row] as const))('%s', (name, row) => {
  test('shows method, path, scope, limit, and every parameter, field and specific error', () => {
    const section = sectionOf(name);
    expect(section).toContain(`>${row.method}</span>`);
    expect(section).toContain(API_PREFIX + row.path.replaceAll(/:(\w+)/g, '{$1}'));
    expect(section).toContain(row.scope ?? 'Any valid key');
    expect(section).toContain(row.category ? `<code>${row.category}</code>` : 'No limit except');
    const names = [row.params, row.query, row.body].flatMap((schema) => Object.keys(schema?.shape ?? {}));
    for (const field of names) expect(unescapeHtml(section)).toContain(`<code>${field}</code>`);
    for (const meaning of Object.values(row.errors ?? {})) {
      expect(unescapeHtml(section).replaceAll(/<\/?code>|`/g, '')).toContain(meaning.replaceAll('`', ''));
    }
  });

  test('shows responses that the schema of the route allows', () => {
    const shown = [
      ...sectionOf(name).matchAll(
        /<span class="status good">\d+<\/span> [^]*?<pre tabindex="0"><code>([^]*?)<\/code><\/pre>/g,
      ),
    ];
    const bodies = row.eventStream ? [] : shown.map(([, text = '']) => JSON.parse(unescapeHtml(text)));
    expect(shown.length).toBeGreaterThan(0);
    for (const { status, data } of bodies) {
      expect(status).toBe('success');
      expect(row.data.safeParse(data).error).toBeUndefined();
    }
  });

  test('has a curl command whose request the route accepts', () => {
    const { method, url: target, headers, body: text } = sentByCurl(codeIn(sectionOf(name))[0] ?? '');
    const url = new URL(target);
    expect(method).toBe(row.method);
    expect(headers['x-api-key']).toBe('secret');
    expect(headers['x-guild-id']).toBe(row.guild === 'header' ? GUILD : undefined);
    const path = RegExp(`^${API_PREFIX}${row.path.replace(':guildId', GUILD).replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`);
    const { groups = {} } = path.exec(url.pathname) ?? { groups: undefined };
    expect(url.pathname).toMatch(path);
    const params = Object.entries({ ...groups }).map(([key, value]) => [key, decodeURIComponent(value)]);
    const guild = row.params?.shape.guildId ? { guildId: GUILD } : {};
    expect(row.params?.safeParse({ ...guild, ...Object.fromEntries(params) }).error).toBeUndefined();
    expect(row.query?.safeParse(Object.fromEntries(url.searchParams)).error).toBeUndefined();
    expect(text !== undefined).toBe(row.body !== undefined);
    expect(headers['content-type']).toBe(row.body && 'application/json');
    const body = row.body?.parse(JSON.parse(text ?? ''));
    expect(body?.guild_id ?? GUILD).toBe(GUILD);
  });

  test('sends the same request in TypeScript and Luau', async () => {
    const [curl = '', ...others] = codeIn(sectionOf(name));
    const expected = sentByCurl(curl);
    const typescript = others.at(-1) ?? '';
    const parsed = ({ body, ...rest }: Sent) => ({ ...rest, body: body === undefined ? undefined : JSON.parse(body) });
    // HttpService cannot read a stream.
    expect(others).toHaveLength(row.eventStream ? 1 : 2);
    const luau = row.eventStream ? [] : [await sentByLuau(others[0] ?? '')];
    for (const sent of [await sentByTypescript(typescript), ...luau]) expect(parsed(sent)).toEqual(parsed(expected));
  });
});

test('text with quotes, dollar signs and backticks is sent to the server unchanged', () => {
  const { url, body } = sentByCurl(codeIn(sectionOf('hostile'))[0] ?? '');
  expect(JSON.parse(body ?? '')).toEqual({
    guild_id: GUILD,
    text: HOSTILE,
    [HOSTILE]: HOSTILE,
    players: [{ game_id: 1 }],
    state: 'open',
  });
  expect(new URL(url).searchParams.get('page')).toBe(HOSTILE);
});

test('fields of list items are shown with their path, and enums also where the field may be null', () => {
  expect(sectionOf('hostile')).toContain('<code>players[].game_id</code>');
  expect(sectionOf('hostile')).toContain('one of open, shut');
});

test('fields that an object has from another schema are shown with its own', () => {
  for (const field of ['ban.reason', 'ban.expires_at', 'mute.place_id', 'logs[].created_at']) {
    expect(sectionOf('getPerson')).toContain(`<code>${field}</code>`);
  }
});

test('the example of a person names exactly the parts that it leaves out', () => {
  const response = /<pre tabindex="0"><code>(.*?)<\/code>/s.exec(sectionOf('getPerson'))?.[1] ?? '';
  const { data } = JSON.parse(unescapeHtml(response));
  const leftOut = ['link', 'session', 'server'].filter((part) => !(part in data));
  expect(data.omitted).toEqual(leftOut);
});
