import type { OpenApiDocument, Operation } from '../openapi/document.ts';
import { curlOf } from './curl.ts';
import { eventsGuide } from './events.ts';
import { Html, html } from './html.ts';
import { headings, inline, markdown, slug } from './markdown.ts';
import { type Endpoint, errorsIn, errorTable, operationSection } from './operation.ts';
import { STYLE } from './style.ts';

/** The Content-Security-Policy header of the documentation page, which allows only the page's own style sheet. */
export const DOCS_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Renders an OpenAPI document as one HTML page that loads no other files. */
export function docsPage(document: OpenApiDocument): string {
  const { info, components } = document;
  const groups = document.tags.map(({ name, description }) => ({
    name,
    description,
    endpoints: endpointsOf(document, name),
  }));
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API ${info.version}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<div class="layout">
<header>
<h1>${info.title} API <small>version ${info.version}</small></h1>
<p class="quiet">${info.summary}. OpenAPI document: <a href="/openapi.json">openapi.json</a></p>
${quickStart(document)}
</header>
${contents(info.description, groups)}
<main>
<section><h2 id="rules">Rules</h2>
${markdown(info.description)}
</section>
${groups.map(
  ({ name, description, endpoints }) => html`<section><h2 id="${slug(name)}">${title(name)}</h2>
<p class="quiet">${inline(description)}</p>
${name === 'events' ? eventsGuide() : undefined}
${endpoints.map((endpoint) => operationSection(endpoint, document))}</section>
`,
)}
<section><h2 id="errors">Common errors</h2>
<p>What the errors mean in general. Each operation lists those that mean something special there.</p>
${errorTable(errorsIn(Object.values(components.responses), components))}
</section>
</main>
</div>
</body>
</html>
`;
  return page.text;
}

interface Group {
  name: string;
  description: string;
  endpoints: Endpoint[];
}

function endpointsOf({ paths }: OpenApiDocument, tag: string): Endpoint[] {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries<Operation>(item).map(([method, operation]) => ({ method, path, operation })),
  );
  return all.filter(({ operation }) => operation.tags.includes(tag));
}

const link = (id: string, text: string) => html`<li><a href="#${id}">${text}</a></li>`;

function contents(rules: string, groups: Group[]): Html {
  return html`<nav aria-label="Contents">
<ul>${link('quick-start', 'Quick start')}</ul>
<b>Rules</b>
<ul>${headings(rules).map((heading) => link(slug(heading), heading))}</ul>
${groups.map(
  ({ name, endpoints }) => html`<b>${title(name)}</b>
<ul>${name === 'events' ? [link('receive-events', 'Receive events'), link('event-types', 'Event types')] : undefined}
${endpoints.map(({ operation }) => link(operation.operationId, operation.summary))}</ul>
`,
)}<b>More</b>
<ul>${link('errors', 'Common errors')}</ul>
</nav>`;
}

function quickStart(document: OpenApiDocument): Html {
  const [first] = endpointsOf(document, document.tags[0]?.name ?? '');
  const settings = `API='${document.servers[0]?.url}'
KEY='service_900000000000000001_...'
GUILD='900000000000000001'`;
  const { method = '', path = '', operation } = first ?? {};
  return html`<h2 id="quick-start">Quick start</h2>
<p>Set your API key and guild ID once. Then you can run every example below without changes.</p>
<pre class="call"><code>${settings}

${operation && curlOf(method, path, operation, document.components)}</code></pre>`;
}

const title = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
