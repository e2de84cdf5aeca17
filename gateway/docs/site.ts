import { readFileSync } from 'node:fs';
import { pathOf } from '#kit/files.ts';
import type { Route } from '#proto/rest/route.ts';
import type { Components, OpenApiDocument } from '../openapi/document.ts';
import { Tabs } from './examples.ts';
import { guidePages, guidePath } from './guides.ts';
import { type Html, html } from './html.ts';
import type { Frame, Page, PageGroup } from './layout.ts';
import { headings, inline, markdown, slug } from './markdown.ts';
import { errorsIn, errorTable, operationSection } from './reference/operation.ts';
import { categoriesTable, eventTypesTable, quotasTable, scopesTable } from './reference/tables.ts';
import { linkTo, shortPath, type Topic, topicsOf } from './reference/topics.ts';

/** The whole documentation: all pages, and what the frame of each page shows. */
export interface Site {
  pages: Page[];
  topics: Topic[];
  /** The schemas of the operations. */
  components: Components;
  frame: Frame;
}

export interface SiteOptions {
  document: OpenApiDocument;
  routes: readonly Route[];
}

const CHANGELOG = pathOf('CHANGELOG.md');

/** Builds all pages of the documentation. */
export function buildSite({ document, routes }: SiteOptions): Site {
  const topics = topicsOf(document);
  const guides = guidePages(document.servers[0]?.url ?? '');
  const reference = topics.map((topic) => topicPage(topic, document));
  const rules = [rulesPage(document), limitsPage(routes, topics), errorsPage(document), eventTypesPage()];
  const changes = changelogPage();
  const groups: PageGroup[] = [
    { title: 'Guides', pages: guides },
    { title: 'Reference', pages: reference },
    { title: 'Rules', pages: [...rules, changes] },
  ];
  addLinks(guides[0], groups);
  const { title, version } = document.info;
  return {
    pages: groups.flatMap(({ pages }) => pages),
    topics,
    components: document.components,
    frame: { title, version, groups },
  };
}

/** Adds links to all other pages at the end of the start page. */
function addLinks(start: Page | undefined, groups: PageGroup[]): void {
  if (!start) return;
  const sections = groups.map(
    ({ title, pages }) => html`<h2 id="${slug(title)}">${title}</h2>
<ul class="pages">
${pages
  .filter((page) => page !== start)
  .map((page) => html`<li><a href="${page.path}">${page.title}</a><p>${page.description}</p></li>\n`)}</ul>
`,
  );
  start.content = html`${start.content}${sections}`;
}

function topicPage(topic: Topic, document: OpenApiDocument): Page {
  const { title, description, endpoints } = topic;
  const tabs = new Tabs();
  return {
    path: linkTo(topic),
    title,
    description,
    content: html`<h1>${title}</h1>
<p class="lead">${description}</p>
<p>The examples use the constants of the <a href="${guidePath('start')}">first page</a>.</p>
<ul>
${endpoints.map(
  ({ operation }) => html`<li><a href="#${operation.operationId}">${inline(operation.summary)}</a></li>\n`,
)}</ul>
${endpoints.map((endpoint) => operationSection(endpoint, document, tabs))}`,
    entries: endpoints.map(({ method, path, operation }) => ({
      id: operation.operationId,
      label: label(method, path),
    })),
  };
}

/** The label of an operation in the navigation. A path may be broken before each slash. */
function label(method: string, path: string): Html {
  const parts = shortPath(path).slice(1).split('/');
  return html`<span class="method ${method}">${method.toUpperCase()}</span> ${parts.map((part) => html`<wbr>/${part}`)}`;
}

function rulesPage({ info }: OpenApiDocument): Page {
  const description = 'What applies to every request: keys, guilds, bodies, pages, limits, retries and versions.';
  return {
    path: '/docs/rules',
    title: 'Rules',
    description,
    content: html`<h1>Rules</h1>
<p class="lead">${description}</p>
${markdown(info.description)}`,
    entries: headings(info.description).map((heading) => ({ id: slug(heading), label: heading })),
  };
}

function limitsPage(routes: readonly Route[], topics: readonly Topic[]): Page {
  const description = 'Which scope a key needs, how many requests are allowed, and how much a guild may store.';
  return {
    path: '/docs/limits',
    title: 'Scopes, limits and quotas',
    description,
    content: html`<h1>Scopes, limits and quotas</h1>
<p class="lead">${description}</p>
<h2 id="scopes">Scopes</h2>
<p>A key may call the operations of its scopes. A scope that ends in <code>:write</code> includes the one that ends in
<code>:read</code>. Operations without a scope can be called with any valid key.</p>
${scopesTable(topics)}
<h2 id="categories">Rate limits</h2>
<p>Each operation belongs to a category. A request above its limit gets 429 with <code>Retry-After</code>.</p>
${categoriesTable(topics)}
<h2 id="quotas">Quotas</h2>
<p>A write that would exceed a quota of the guild gets 409 <code>QUOTA_EXCEEDED</code> with the name of the quota in
<code>details.quota</code>. The operator may have set other values than these.</p>
${quotasTable(routes, topics)}`,
    entries: [
      { id: 'scopes', label: 'Scopes' },
      { id: 'categories', label: 'Rate limits' },
      { id: 'quotas', label: 'Quotas' },
    ],
  };
}

function errorsPage({ components }: OpenApiDocument): Page {
  const description = 'What each error code means, and what to do about it.';
  return {
    path: '/docs/errors',
    title: 'Errors',
    description,
    content: html`<h1>Errors</h1>
<p class="lead">${description}</p>
<p>Programs should use <code>details.code</code> of the response. Where a code means something special on an operation, the
operation's own list says so. See also <a href="${guidePath('errors-and-retries')}">how to handle errors</a>.</p>
${errorTable(errorsIn(Object.values(components.responses), components))}`,
    entries: [],
  };
}

function eventTypesPage(): Page {
  const description = 'Every type of event, when it happens, and the scope with which it may be read.';
  return {
    path: '/docs/event-types',
    title: 'Event types',
    description,
    content: html`<h1>Event types</h1>
<p class="lead">${description}</p>
<p>The <code>data</code> of an event is the object as the operations of the reference return it. Select types with their names or
with a group, such as <code>ban.*</code>. See <a href="${guidePath('webhooks')}">how to receive events</a>.</p>
${eventTypesTable()}`,
    entries: [],
  };
}

function changelogPage(): Page {
  const text = readFileSync(CHANGELOG, 'utf8');
  return {
    path: '/changelog',
    title: 'Changelog',
    description: 'What changed in each release.',
    content: markdown(text),
    entries: headings(text).map((heading) => ({ id: slug(heading), label: heading })),
  };
}
