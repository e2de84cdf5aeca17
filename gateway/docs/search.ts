import { ERRORS, PUBLIC_CODES } from '#kit/errors.ts';
import { EVENT_TYPES } from '#proto/rest/events/index.ts';
import { ADVICE } from '../openapi/errors.ts';
import { type Html, html, unescapeHtml } from './html.ts';
import { MAX_SEARCH_LENGTH, type Page, renderPage } from './layout.ts';
import { inline } from './markdown.ts';
import { namesIn } from './reference/operation.ts';
import { linkTo } from './reference/topics.ts';
import type { Site } from './site.ts';

export const SEARCH_PATH = '/docs/search';

/** A search has at most this many words; further ones are ignored. */
const MAX_WORDS = 8;
const MAX_RESULTS = 20;

/** One thing that a search can find. */
interface Entry {
  href: string;
  title: string;
  /** One line about it. */
  description: string;
  /** What the words of a search are compared with, in lower case. */
  name: string;
  nameWords: string[];
  text: string;
}

/**
 * The search of the documentation. It compares the words of a search with the texts of all entries; the length of a
 * search and the number of its words are limited, and so is the time that one takes.
 */
export class Search {
  readonly #site: Site;
  readonly #entries: Entry[];

  constructor(site: Site) {
    this.#site = site;
    this.#entries = [
      ...operationEntries(site),
      ...site.pages.flatMap(pageEntries),
      ...errorEntries(),
      ...eventEntries(),
    ];
  }

  /** Returns the page with the results of a search. */
  page(given: string): string {
    const query = given
      .slice(0, MAX_SEARCH_LENGTH)
      .replaceAll(/\p{Cc}/gu, ' ')
      .trim();
    const found = this.find(query);
    const page: Page = {
      path: SEARCH_PATH,
      title: 'Search',
      description: 'Search operations, guides, errors and event types.',
      content: html`<h1>Search</h1>
<p class="lead">${summaryOf(query, found.length)}</p>
<ul class="pages results">
${found.map(resultOf)}</ul>`,
      entries: [],
    };
    return renderPage(page, this.#site.frame, query);
  }

  /** Returns the entries that have all words of a search, those with the words in their name first. */
  find(query: string): Entry[] {
    const words = wordsOf(query).slice(0, MAX_WORDS);
    if (words.length === 0) return [];
    return this.#entries
      .filter(({ text }) => words.every((word) => text.includes(word)))
      .map((found) => ({ found, score: scoreOf(found, words) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, MAX_RESULTS)
      .map(({ found }) => found);
  }
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

/** Counts the words in the name of an entry: twice if it has the whole word, and once more if it begins with the first. */
function scoreOf({ name, nameWords }: Entry, words: readonly string[]): number {
  const whole = words.filter((word) => nameWords.includes(word)).length;
  return words.filter((word) => name.includes(word)).length + whole + (nameWords[0] === words[0] ? 1 : 0);
}

function summaryOf(query: string, count: number): string {
  if (query === '') return 'Type what you look for: a path, a field, an error code, or what you want to do.';
  if (count === 0) return `Nothing has all words of "${query}". Try fewer or other words.`;
  return count === MAX_RESULTS ? `The first ${count} results for "${query}".` : `${count} found for "${query}".`;
}

const resultOf = ({ href, title, description }: Entry): Html =>
  html`<li><a href="${href}">${title}</a><p>${inline(description)}</p></li>\n`;

function entry(href: string, title: string, description: string, text = ''): Entry {
  const name = title.toLowerCase();
  return {
    href,
    title,
    description,
    name,
    nameWords: wordsOf(name),
    text: `${name} ${description} ${text}`.toLowerCase(),
  };
}

function operationEntries({ topics, components }: Site): Entry[] {
  return topics.flatMap((topic) =>
    topic.endpoints.map(({ method, path, operation }) => {
      const { operationId, summary, description } = operation;
      const names = namesIn(operation, components).join(' ');
      const text = `${operationId} ${description} ${operation['x-required-scope'] ?? ''} ${names}`;
      return entry(linkTo(topic, operationId), summary, `\`${method.toUpperCase()} ${path}\``, text);
    }),
  );
}

/** A page, and each section of it that has a heading. The operations of the reference are entries of their own. */
function pageEntries(page: Page): Entry[] {
  if (page.path.startsWith('/docs/reference/')) return [entry(page.path, page.title, page.description)];
  const content = [page.content].flat().map(({ text }) => text);
  const [, ...sections] = content.join('').split(/<h2 id="/);
  return [
    entry(page.path, page.title, page.description, textOf(content.join(''))),
    ...sections.flatMap((section) => {
      const [, id = '', title = '', text = ''] = /^([^"]*)">(.*?)<\/h2>(.*)$/s.exec(section) ?? [];
      // The lists of links to other pages are no sections of their own.
      if (!page.entries.some((section) => section.id === id)) return [];
      return entry(`${page.path}#${id}`, unescapeHtml(textOf(title)), page.title, textOf(text));
    }),
  ];
}

/** The text of HTML that our own templates have written. */
const textOf = (content: string): string => unescapeHtml(content.replaceAll(/<[^>]*>/g, ''));

function errorEntries(): Entry[] {
  return PUBLIC_CODES.map((code) =>
    entry('/docs/errors', `${ERRORS[code].http} ${code}`, `${ERRORS[code].text}. ${ADVICE[code]}`),
  );
}

function eventEntries(): Entry[] {
  return Object.entries(EVENT_TYPES).map(([type, { summary }]) => entry('/docs/event-types', type, summary));
}
