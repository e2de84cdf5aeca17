import { describe, expect, test } from 'vitest';
import { CATEGORIES } from '#proto/rest/limits.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { LANGUAGES } from './examples.ts';
import { codeIn, document, pages, reference, routes, site } from './fixture.ts';
import { unescapeHtml } from './html.ts';
import { DOCS_SECURITY_POLICY, STYLE, STYLE_PATH } from './layout.ts';
import { llmsText } from './llms.ts';
import { Search } from './search.ts';

const MAX_PAGE_BYTES = 300_000;
const VOID_ELEMENTS = ['meta', 'link', 'input', 'wbr'];
/** What the pages link to besides pages. */
const OTHER_DOCUMENTS = ['/openapi.json', '/postman.json', '/llms.txt'];

const all = [...pages, ['/docs/search', new Search(site).page('ban <player>')] as const];
const idsOf = (text: string) => [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);

describe.each(all)('%s', (path, text) => {
  test('is complete HTML in which every element is closed', () => {
    expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
    const open: string[] = [];
    const misplaced: string[] = [];
    for (const [, slash, name = ''] of text.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (VOID_ELEMENTS.includes(name)) continue;
      if (slash === '') open.push(name);
      else if (open.pop() !== name) misplaced.push(name);
    }
    expect([...open, ...misplaced]).toEqual([]);
  });

  test('loads nothing but the style sheet, and runs no scripts', () => {
    const tags = [...text.matchAll(/<([a-z][a-z0-9]*)([^>]*)>/g)];
    const loaders = ['script', 'style', 'img', 'iframe', 'object', 'embed', 'base'];
    expect(tags.filter(([, name = '']) => loaders.includes(name))).toEqual([]);
    expect(tags.filter(([, , attributes = '']) => /\s(?:src|srcset|style|on\w+)=/.test(attributes))).toEqual([]);
    const sheets = tags.filter(([, name]) => name === 'link').map(([, , attributes]) => attributes);
    expect(sheets).toEqual([expect.stringContaining(`rel="stylesheet" href="${STYLE_PATH}?v=`)]);
  });

  test('links only to pages and places that exist, and all IDs are unique', () => {
    const ids = idsOf(text);
    expect(new Set(ids).size).toBe(ids.length);
    const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      const [target = '', id] = link.split('#');
      if (target.startsWith(STYLE_PATH) || OTHER_DOCUMENTS.includes(link)) return false;
      const page = target === '' ? text : pages.get(target);
      return page === undefined || (id !== undefined && !idsOf(page).includes(id));
    });
    expect(broken).toEqual([]);
  });

  test('has one heading of the first level, and no level is left out', () => {
    const levels = [...text.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    expect(levels[0]).toBe(1);
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 1) + 1)).toEqual([]);
  });

  test('is small, escapes every text that it shows, and shows no missing value', () => {
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_PAGE_BYTES);
    expect(text).not.toContain('<img');
    expect(text).not.toContain('<player>');
    expect(text).not.toMatch(/\bundefined\b(?![^<]*<\/code>)|\[object Object\]/);
  });

  test('has tabs that work without a script: radio buttons with labels, and one is checked', () => {
    for (const [, tabs = ''] of text.matchAll(/<fieldset class="tabs">(.*?)<\/fieldset>/gs)) {
      const buttons = [...tabs.matchAll(/<input type="radio" name="([^"]+)" id="([^"]+)"( checked)?>/g)];
      expect(new Set(buttons.map(([, name]) => name)).size).toBe(1);
      expect(buttons.filter(([, , , checked]) => checked)).toHaveLength(1);
      for (const [, , id] of buttons) expect(tabs).toContain(`<label for="${id}">`);
      expect(codeIn(tabs)).toHaveLength(buttons.length);
      expect(buttons.length).toBeLessThanOrEqual(Object.keys(LANGUAGES).length);
    }
    expect(path).not.toBe('');
  });
});

test('the policy allows the own style sheet and the search, and nothing else', () => {
  expect(DOCS_SECURITY_POLICY).toBe(
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  );
  expect(STYLE).not.toMatch(/@import|url\(/);
});

test('the reference has every operation exactly once', () => {
  const shown = reference.flatMap((page) => [...page.matchAll(/<article id="(\w+)">/g)].map(([, id]) => id));
  const operations = Object.values(document.paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  );
  const byName = (a = '', b = '') => a.localeCompare(b);
  expect(shown.toSorted(byName)).toEqual(operations.toSorted(byName));
});

test('all examples are about one place and one game server', () => {
  const text = unescapeHtml([...pages.values()].join('\n'));
  const valuesOf = (name: string, value: string) =>
    new Set(
      [...text.matchAll(RegExp(`${name}"?(?::| =) (?:game\\.\\w+|["']?(${value}))`, 'g'))].map(([, found]) => found),
    );
  expect(valuesOf('place_id', '\\d+')).toEqual(new Set(['40001', undefined]));
  expect(valuesOf('server_id', '[0-9a-f-]{4,}')).toEqual(new Set(['c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77', undefined]));
});

test('the first page has the key first, then the first request, then links to all other pages', () => {
  const start = pages.get('/docs') ?? '';
  const places = ['id="get-a-key"', 'id="set-up"', '/api/v1/whoami', 'id="guides"', 'id="reference"'];
  const found = places.map((place) => start.indexOf(place));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.toSorted((a, b) => a - b));
  const linked = [...start.matchAll(/<li><a href="([^"]+)">[^<]+<\/a><p>/g)].map(([, href]) => href);
  expect(linked).toEqual([...pages.keys()].filter((path) => path !== '/docs'));
});

test('the tables show every scope, category and quota of the code', () => {
  const limits = pages.get('/docs/limits') ?? '';
  for (const scope of SCOPES) expect(limits).toContain(`<code>${scope}</code>`);
  for (const [category, { limit, per }] of Object.entries(CATEGORIES)) {
    expect(limits).toContain(`<code>${category}</code></td><td data-name="Requests in 60 s">${limit} per ${per}</td>`);
  }
  const quotas = routes.flatMap(({ quota }) => (quota ? [quota.quota] : []));
  expect(quotas.length).toBeGreaterThan(0);
  for (const quota of quotas) expect(limits).toContain(`<code>${quota}</code>`);
});

test('the page of errors has the common errors once', () => {
  const errors = pages.get('/docs/errors') ?? '';
  for (const code of ['MISSING_API_KEY', 'API_KEY_EXPIRED', 'PAYLOAD_TOO_LARGE', 'UNAVAILABLE', 'TIMEOUT']) {
    expect(errors.split(`<code>${code}</code>`)).toHaveLength(2);
  }
});

test('llms.txt has one line for every page, with its address and description', () => {
  const text = llmsText(document, site.frame);
  expect(text).toMatch(/^# Guild Data API\n\n> .+\n\n## Guides\n\n- /);
  const links = [...text.matchAll(/^- \[[^\]]+\]\(http:\/\/127\.0\.0\.1:8080([^)]+)\): \S.+$/gm)].map(
    ([, path]) => path,
  );
  expect(links).toEqual([...pages.keys(), '/openapi.json', '/postman.json']);
});

describe('the style sheet', () => {
  test('supports dark mode, and shows rows of tables as cards on narrow screens', () => {
    expect(STYLE).toContain('prefers-color-scheme: dark');
    expect(STYLE).toContain('attr(data-name)');
  });

  const [light = '', dark = ''] = [...STYLE.matchAll(/:root \{([^}]*)\}/g)].map(([, block]) => block);
  test.each([
    ['light', light],
    ['dark', dark],
  ])('has enough contrast between every text color and every background: %s', (_, block) => {
    const colors = Object.fromEntries(
      [...block.matchAll(/--([a-z]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, luminance(value ?? '')]),
    );
    for (const ground of ['paper', 'card', 'code']) {
      for (const text of ['ink', 'quiet', 'accent', 'get', 'post', 'put', 'patch', 'delete', 'good', 'bad']) {
        const [low = 0, high = 0] = [colors[ground] ?? 0, colors[text] ?? 0].sort((a, b) => a - b);
        // The minimum of WCAG 2.2, level AA.
        expect((high + 0.05) / (low + 0.05), `${text} on ${ground}`).toBeGreaterThan(4.5);
      }
    }
  });
});

/** The relative luminance of a color, as WCAG 2.2 defines it. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
