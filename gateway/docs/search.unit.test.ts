import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { pages, site } from './fixture.ts';
import { unescapeHtml } from './html.ts';
import { MAX_SEARCH_LENGTH } from './layout.ts';
import { Search } from './search.ts';

const search = new Search(site);

describe('a search', () => {
  test.each([
    ['ban player', '/docs/reference/moderation#banPlayer'],
    ['BAN PLAYER', '/docs/reference/moderation#banPlayer'],
    ['/moderation/{guildId}/game/ban', '/docs/reference/moderation#banPlayer'],
    ['account_age_min_days', '/docs/reference/bindings#addBinding'],
    ['shutdown', '/docs/reference/commands#sendCommand'],
    ['action_count', '/docs/reference/staff#getStaffReport'],
    ['tz', '/docs/reference/staff#getStaffReport'],
    ['leaderboard', '/docs/reference/staff'],
    ['createVerificationToken', '/docs/reference/verification#createVerificationToken'],
    ['QUOTA_EXCEEDED', '/docs/errors'],
    ['link.created', '/docs/event-types'],
    ['retry', '/docs/errors-and-retries'],
    ['idempotency', '/docs/rules#retrying-a-write'],
  ])('for %s finds %s', (query, href) => {
    expect(search.find(query).map((entry) => entry.href)).toContain(href);
  });

  test('shows what is named like the search first', () => {
    expect(search.find('ban')[0]?.href).toBe('/docs/reference/moderation#banPlayer');
    expect(search.find('webhooks')[0]?.title).toMatch(/webhooks/i);
  });

  test('finds only entries that have all words, and nothing without words', () => {
    expect(search.find('ban zebra')).toEqual([]);
    expect(search.find(' ... ')).toEqual([]);
    expect(search.page('ban zebra')).toContain('Nothing has all words');
  });

  test('has at most 20 results, each of which leads to a page', () => {
    const found = search.find('a');
    expect(found).toHaveLength(20);
    for (const { href } of found) expect([...pages.keys()]).toContain(href.split('#')[0]);
  });

  test('shows what was searched for as text, cut to the maximum length', () => {
    const hostile = `"><script>alert(1)</script>${'x'.repeat(10_000)}`;
    const page = search.page(hostile);
    expect(page).not.toContain('<script');
    expect(unescapeHtml(page)).toContain(hostile.slice(0, MAX_SEARCH_LENGTH));
    expect(unescapeHtml(page)).not.toContain(hostile.slice(0, MAX_SEARCH_LENGTH + 1));
  });

  test('shows no control characters', () => {
    expect(search.page('ban\u0000\u001bplayer')).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test('compares each entry with eight words at most, however long the search is', () => {
    const comparisons = vi.spyOn(String.prototype, 'includes');
    onTestFinished(() => comparisons.mockRestore());
    const count = (query: string) => {
      comparisons.mockClear();
      search.page(query);
      return comparisons.mock.calls.length;
    };
    // No entry has the word, so each is compared once.
    const entries = count('zebra');
    expect(entries).toBeGreaterThan(100);
    // Each word is compared with the text of each entry, and with the names of those that have all words.
    expect(count('a e i o u n r s')).toBeLessThanOrEqual(entries * 2 * 8);
    expect(count('a e i o u n r s t d '.repeat(1_000))).toBe(count('a e i o u n r s'));
  });
});
