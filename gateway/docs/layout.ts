import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathOf } from '#kit/files.ts';
import { type Html, html } from './html.ts';

/** The Content-Security-Policy header of every page: only the style sheet is loaded, and only the search is a form. */
export const DOCS_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The style sheet of the pages. It loads no fonts or images. */
export const STYLE = readFileSync(pathOf('gateway/docs/style.css'), 'utf8');

export const STYLE_PATH = '/docs/style.css';

/** The address of the style sheet has its hash, so that a browser never shows a new page with an old style sheet. */
const STYLE_LINK = `${STYLE_PATH}?v=${createHash('sha256').update(STYLE).digest('base64url').slice(0, 12)}`;

/** The maximum number of characters of a search. */
export const MAX_SEARCH_LENGTH = 100;

/** A page of the documentation. */
export interface Page {
  path: string;
  title: string;
  /** One line that says what a reader finds on the page. */
  description: string;
  /** The content; begins with the heading of the first level. */
  content: Html | Html[];
  /** The page's own entries in the navigation: its operations or sections, by the ID of their elements. */
  entries: Entry[];
}

export interface Entry {
  id: string;
  label: Html | string;
}

/** A titled group of pages in the navigation. */
export interface PageGroup {
  title: string;
  pages: Page[];
}

export interface Frame {
  title: string;
  version: string;
  groups: readonly PageGroup[];
}

/** Renders a complete HTML page. `query` is what the reader searched for. */
export function renderPage(page: Page, { title, version, groups }: Frame, query = ''): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${page.description}">
<title>${page.title} - ${title} API</title>
<link rel="stylesheet" href="${STYLE_LINK}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="/docs">${title} API</a> <span class="quiet">${version}</span>
<form role="search" action="/docs/search">
<label class="hidden" for="q">Search the documentation</label>
<input id="q" type="search" name="q" maxlength="${MAX_SEARCH_LENGTH}" required placeholder="Search" value="${query}">
<button>Search</button>
</form>
<a class="to-pages" href="#pages">All pages</a>
</header>
<div class="layout">
<main id="content">
${page.content}
</main>
<nav id="pages" aria-label="Pages">
${groups.map((group) => navigationGroup(group, page))}
<b>More</b>
<ul>
<li><a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/postman.json">Postman collection</a></li>
<li><a href="/llms.txt">llms.txt</a></li>
</ul>
</nav>
</div>
</body>
</html>
`.text;
}

function navigationGroup({ title, pages }: PageGroup, current: Page): Html {
  const links = pages.map((page) => {
    if (page.path !== current.path) return html`<li><a href="${page.path}">${page.title}</a></li>\n`;
    return html`<li><a href="${page.path}" aria-current="page">${page.title}</a>${entriesOf(page)}</li>\n`;
  });
  return html`<b>${title}</b>\n<ul>\n${links}</ul>\n`;
}

function entriesOf({ entries }: Page): Html | undefined {
  if (entries.length === 0) return undefined;
  return html`\n<ul>\n${entries.map(({ id, label }) => html`<li><a href="#${id}">${label}</a></li>\n`)}</ul>\n`;
}
