import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf } from '#kit/files.ts';
import { EXAMPLES_FOLDER, type Example, examplesOf, Tabs } from './examples.ts';
import { type Html, html } from './html.ts';
import type { Page } from './layout.ts';
import { headings, markdown, slug } from './markdown.ts';

/**
 * The guides in the order of the navigation. Each has a text, `guides/<name>.md`, and a folder of examples, which its lines
 * `@example NN-name` show.
 */
export const GUIDES = [
  'start',
  'verify-a-player',
  'check-who-joins',
  'mirror-bans-and-links',
  'heartbeat-and-commands',
  'webhooks',
  'errors-and-retries',
] as const;

export type Guide = (typeof GUIDES)[number];

const FOLDER = pathOf('gateway/docs/guides');

/** The guide whose first example sets the constants, or creates the client, that the examples of all other guides use. */
const SET_UP = { guide: 'start', example: '01-set-up' };

/** The address that the example files have, which a page replaces by the address of the API. */
export const EXAMPLE_URL = 'http://127.0.0.1:8080';

/** Returns the page of each guide. `serverUrl` is the address of the API, without its prefix. */
export function guidePages(serverUrl: string): Page[] {
  return GUIDES.map((guide) => guidePage(guide, serverUrl));
}

/** The path of a guide's page. */
export const guidePath = (guide: Guide): string => (guide === 'start' ? '/docs' : `/docs/${guide}`);

function guidePage(guide: Guide, serverUrl: string): Page {
  const text = readFileSync(join(FOLDER, `${guide}.md`), 'utf8');
  const [, title = '', description = '', rest = ''] = /^# (.+)\n\n(.+)\n\n([^]*)$/.exec(joinedLead(text)) ?? [];
  if (title === '') throw new Error(`${guide}.md does not begin with a heading and a paragraph`);
  const examples = new ExampleBlocks(guide, serverUrl);
  const content = markdown(rest, { directive: (line) => examples.render(line) });
  examples.checkAllShown();
  return {
    path: guidePath(guide),
    title,
    description,
    content: html`<h1>${title}</h1>
<p class="lead">${description}</p>
${content}`,
    entries: headings(rest).map((heading) => ({ id: slug(heading), label: heading })),
  };
}

/** Joins the lines of the first paragraph, which is the page's description. */
function joinedLead(text: string): string {
  const [heading = '', lead = '', ...rest] = text.split('\n\n');
  return [heading, lead.replaceAll('\n', ' '), ...rest].join('\n\n');
}

/** The examples of one guide. Each must be shown once. */
class ExampleBlocks {
  readonly #guide: Guide;
  readonly #serverUrl: string;
  readonly #examples: Map<string, Example>;
  readonly #shown = new Set<string>();
  readonly #tabs = new Tabs();

  constructor(guide: Guide, serverUrl: string) {
    this.#guide = guide;
    this.#serverUrl = serverUrl;
    this.#examples = examplesOf(guide);
  }

  /** Renders what a line of the guide's text stands for. */
  render(line: string): Html {
    if (line === '@set-up') return this.#setUp();
    const [directive, name = '', ...title] = line.split(' ');
    const example = this.#examples.get(name);
    if (directive !== '@example' || !example) throw new Error(`${this.#guide}.md: there is no ${line}`);
    this.#shown.add(name);
    return this.#tabs.render(title.join(' '), this.#withServer(example), `${this.#guide}/${name}`);
  }

  checkAllShown(): void {
    for (const name of this.#examples.keys()) {
      if (!this.#shown.has(name)) throw new Error(`${this.#guide}.md does not show ${join(EXAMPLES_FOLDER, name)}`);
    }
  }

  #setUp(): Html {
    const example = examplesOf(SET_UP.guide).get(SET_UP.example);
    if (!example) throw new Error('the set-up of the examples is missing');
    return html`<details><summary>Set up: the key, the guild and the client that the examples use</summary>
${this.#tabs.render('Before the first example', this.#withServer(example), `${SET_UP.guide}/${SET_UP.example}`)}</details>
`;
  }

  #withServer(example: Example): Example {
    const entries = Object.entries(example).map(([language, code]) => [
      language,
      code.replaceAll(EXAMPLE_URL, this.#serverUrl),
    ]);
    return Object.fromEntries(entries);
  }
}
