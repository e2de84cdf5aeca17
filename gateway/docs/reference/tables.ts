import { EVENT_TYPES } from '#proto/rest/events/index.ts';
import { AUTHENTICATION_LIMIT, CATEGORIES, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';
import { GAME_SCOPES, SCOPES } from '#proto/rest/scopes.ts';
import { operationIdOf } from '../../openapi/operation-id.ts';
import { type Html, html } from '../html.ts';
import { inline, table } from '../markdown.ts';
import { type Endpoint, linkTo, shortPath, type Topic } from './topics.ts';

/** Renders the table of scopes: what a key with each may call, and whether game servers need it. */
export function scopesTable(topics: readonly Topic[]): Html {
  const rows = SCOPES.map((scope) => [
    html`<code>${scope}</code>`,
    GAME_SCOPES.includes(scope) ? 'yes' : 'no',
    operationLinks(topics, ({ operation }) => operation['x-required-scope'] === scope),
  ]);
  return table(['Scope', 'Game servers need it', 'Operations'], rows);
}

/** Renders the table of rate limit categories. */
export function categoriesTable(topics: readonly Topic[]): Html {
  const rows = Object.entries(CATEGORIES).map(([category, { limit, per }]) => [
    html`<code>${category}</code>`,
    `${limit} per ${per}`,
    operationLinks(topics, ({ operation }) => operation['x-rate-limit'] === category),
  ]);
  const others = [
    [
      html`<code>${KEY_CAP_CATEGORY}</code>`,
      'as set for the key',
      'Every operation, if the key has a limit of its own',
    ],
    [
      html`<code>${AUTHENTICATION_LIMIT.category}</code>`,
      `${AUTHENTICATION_LIMIT.limit} per address`,
      'Requests whose key is rejected; see Rules for IPv6',
    ],
  ];
  return table(['Category', `Requests in ${WINDOW_SECONDS} s`, 'Operations'], [...rows, ...others]);
}

/** Renders the table of quotas: how much a guild may store. Operators can change most of them. */
export function quotasTable(routes: readonly Route[], topics: readonly Topic[]): Html {
  const rows = routes.flatMap((route) => {
    const { quota } = route;
    if (!quota) return [];
    const id = operationIdOf(route);
    return [
      [
        html`<code>${quota.quota}</code>`,
        quota.limit.toLocaleString('en'),
        operationLinks(topics, ({ operation }) => operation.operationId === id),
      ],
    ];
  });
  return table(['Quota', 'Default', 'Operations'], rows);
}

/** Renders the table of event types. */
export function eventTypesTable(): Html {
  const rows = Object.entries(EVENT_TYPES).map(([type, { scope, summary }]) => [
    html`<code>${type}</code>`,
    inline(summary),
    scope === null ? 'any valid key' : html`<code>${scope}</code>`,
  ]);
  return table(['Type', 'When', 'Scope'], rows);
}

/** Renders links to the operations for which `matches` is true. */
function operationLinks(topics: readonly Topic[], matches: (endpoint: Endpoint) => boolean): Html {
  const links = topics.flatMap((topic) =>
    topic.endpoints
      .filter(matches)
      .map(
        ({ method, path, operation }) =>
          html`<a class="operation" href="${linkTo(topic, operation.operationId)}">${method.toUpperCase()} ${shortPath(path)}</a>`,
      ),
  );
  return links.length === 0 ? html`none` : html`${links}`;
}
