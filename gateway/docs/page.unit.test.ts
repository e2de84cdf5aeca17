import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ROUTES } from '#proto/rest/index.ts';
import { API_PREFIX, defineRoutes, type Route, route } from '#proto/rest/route.ts';
import { guildId } from '#proto/rest/schemas.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { operationIdOf } from '../openapi/operation-id.ts';
import { DOCS_SECURITY_POLICY, docsPage } from './page.ts';

const HOSTILE = `<img src=x onerror="alert('1')"> & $HOME \`id\` it's \\ "so"`;
const GUILD = '123456789012345678';

/** A route whose texts all try to inject HTML or shell code. */
const hostileRoutes: Route[] = Object.values(
  defineRoutes('gateway', {
    hostile: route({
      method: 'PATCH',
      path: '/hostile/:name',
      scope: null,
      category: 'lookup',
      guild: 'body',
      params: z.object({ name: z.string().meta({ description: HOSTILE, example: HOSTILE }) }),
      query: z.object({ page: z.string().meta({ description: HOSTILE, example: HOSTILE }) }),
      body: z.object({
        guild_id: guildId,
        text: z.string().meta({ description: HOSTILE, example: HOSTILE }),
        [HOSTILE]: z.enum([HOSTILE, 'other']),
        players: z.array(z.object({ game_id: z.int().meta({ example: 1 }) })),
      }),
      data: z.object({ text: z.string().meta({ description: HOSTILE, example: HOSTILE }) }),
      status: 200,
      message: HOSTILE,
      summary: HOSTILE,
      description: HOSTILE,
      writes: true,
      errors: { NOT_FOUND: HOSTILE, CONFLICT: HOSTILE },
      deprecated: { since: '2030-01-01', sunset: '2031-01-01', replacement: HOSTILE },
    }),
  }),
);

const routes = [...ROUTES, ...hostileRoutes];
const document = openApiDocument(routes, { version: `1.0 ${HOSTILE}`, serverUrl: 'http://127.0.0.1:8080' });
const page = docsPage(document);

const unescapeHtml = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

const sections = new Map(
  [...page.matchAll(/<article id="(\w+)">(.*?)<\/article>/gs)].map(([, id, text]) => [id, text]),
);

function sectionOf(name: string): string {
  const section = sections.get(name);
  if (section === undefined) throw new Error(`the page has no ${name}`);
  return section;
}

function callsIn(text: string): string[] {
  return [...text.matchAll(/<pre class="call"><code>(.*?)<\/code><\/pre>/gs)].map(([, call = '']) =>
    unescapeHtml(call),
  );
}

/** The arguments that curl gets when a shell runs these lines. */
function argumentsOf(lines: string): string[] {
  const settings = `curl() { printf '%s\\0' "$@"; }; API=http://localhost KEY=secret GUILD=${GUILD}`;
  const { stdout, stderr } = spawnSync('sh', ['-c', `${settings}\n${lines}`], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\0').slice(0, -1);
}

describe('the page', () => {
  test('is complete HTML in which every element is closed', () => {
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    const open: string[] = [];
    const misplaced: string[] = [];
    for (const [, slash, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (name === 'meta') continue;
      if (slash === '') open.push(name);
      else if (open.pop() !== name) misplaced.push(name);
    }
    expect([...open, ...misplaced]).toEqual([]);
  });

  test('loads no resources and runs no scripts, and its content security policy forbids both', () => {
    const tags = [...page.matchAll(/<([a-z][a-z0-9]*)([^>]*)>/g)];
    const loaders = ['script', 'link', 'img', 'iframe', 'object', 'embed', 'form', 'base'];
    expect(tags.filter(([, name = '']) => loaders.includes(name))).toEqual([]);
    expect(tags.filter(([, , attributes = '']) => /\s(?:src|srcset|style|on\w+)=/.test(attributes))).toEqual([]);
    expect(page).not.toMatch(/@import|url\(/);
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, link]) => link);
    expect(links.filter((link) => !link?.startsWith('#'))).toEqual(['/openapi.json']);
    expect(DOCS_SECURITY_POLICY).toContain("default-src 'none'");
    expect(DOCS_SECURITY_POLICY).not.toContain('script-src');
  });

  test('links only to IDs on the page, and all IDs are unique', () => {
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, target]) => target);
    expect(new Set(ids).size).toBe(ids.length);
    expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  });

  test('begins with a call that works once key and guild are set', () => {
    const [quickStart = ''] = callsIn(page);
    const [, call = ''] = quickStart.split('\n\n');
    expect(quickStart).toContain("API='http://127.0.0.1:8080'");
    expect(argumentsOf(call)).toEqual(['-s', 'http://localhost/api/v1/whoami', '-H', 'X-API-Key: secret']);
  });

  test('escapes every text that it shows', () => {
    expect(page).toContain('&lt;img src=x onerror=');
    expect(page).not.toContain('<img');
    expect(page).not.toMatch(/undefined|\[object Object\]/);
  });

  test('supports dark mode and small screens', () => {
    expect(page).toContain('prefers-color-scheme: dark');
    expect(page).toContain('name="viewport"');
  });

  test('lists the common errors once', () => {
    const [, common = ''] = page.split('<h2 id="errors">');
    for (const code of ['MISSING_API_KEY', 'API_KEY_EXPIRED', 'PAYLOAD_TOO_LARGE', 'UNAVAILABLE', 'TIMEOUT']) {
      expect(common).toContain(code);
    }
  });
});

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

  test('has a curl command whose request the route accepts', () => {
    const [call = ''] = callsIn(sectionOf(name));
    const given = argumentsOf(call);
    const url = new URL(given.find((argument) => argument.startsWith('http://')) ?? '');
    const headers = given.filter((_, index) => given[index - 1] === '-H');
    const data = given.at(given.indexOf('-d') + 1);
    const method = given.includes('-X') ? given[given.indexOf('-X') + 1] : given.includes('-d') ? 'POST' : 'GET';

    expect(method).toBe(row.method);
    expect(headers).toContain('X-API-Key: secret');
    expect(headers.includes(`X-Guild-ID: ${GUILD}`)).toBe(row.guild === 'header');
    const path = RegExp(`^${API_PREFIX}${row.path.replace(':guildId', GUILD).replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`);
    const { groups = {} } = path.exec(url.pathname) ?? { groups: undefined };
    expect(url.pathname).toMatch(path);
    const params = Object.entries({ ...groups }).map(([key, value]) => [key, decodeURIComponent(value)]);
    const guild = row.params?.shape.guildId ? { guildId: GUILD } : {};
    expect(row.params?.safeParse({ ...guild, ...Object.fromEntries(params) }).error).toBeUndefined();
    expect(row.query?.safeParse(Object.fromEntries(url.searchParams)).error).toBeUndefined();
    expect(given.includes('-d')).toBe(row.body !== undefined);
    expect(headers.includes('Content-Type: application/json')).toBe(row.body !== undefined);
    const body = row.body?.parse(JSON.parse(data ?? ''));
    expect(body?.guild_id ?? GUILD).toBe(GUILD);
  });
});

test('text with quotes, dollar signs and backticks is sent to the server unchanged', () => {
  const given = argumentsOf(callsIn(sectionOf('hostile'))[0] ?? '');
  expect(JSON.parse(given.at(-1) ?? '')).toEqual({
    guild_id: GUILD,
    text: HOSTILE,
    [HOSTILE]: HOSTILE,
    players: [{ game_id: 1 }],
  });
  const url = new URL(given.find((argument) => argument.startsWith('http://')) ?? '');
  expect(url.searchParams.get('page')).toBe(HOSTILE);
});

test('fields of list items are shown with their path', () => {
  expect(sectionOf('hostile')).toContain('<code>players[].game_id</code>');
});
