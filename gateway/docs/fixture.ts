import { z } from 'zod';
import { ROUTES } from '#proto/rest/index.ts';
import { defineRoutes, type Route, route } from '#proto/rest/route.ts';
import { guildId } from '#proto/rest/schemas.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { unescapeHtml } from './html.ts';
import { renderPage } from './layout.ts';
import { buildSite } from './site.ts';

export const HOSTILE = `<img src=x onerror="alert('1')"> & $HOME \`id\` it's \\ "so"`;

/** A route whose texts all try to inject HTML, or code in the language of an example. */
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
        state: z.enum(['open', 'shut']).nullable().meta({ example: 'open' }),
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

export const routes = [...ROUTES, ...hostileRoutes];
export const document = openApiDocument(routes, { version: `1.0 ${HOSTILE}`, serverUrl: 'http://127.0.0.1:8080' });
export const site = buildSite({ document, routes });

/** The HTML of every page by its path. */
export const pages = new Map(site.pages.map((page) => [page.path, renderPage(page, site.frame)]));

/** The HTML of all pages of the reference. */
export const reference = [...pages].filter(([path]) => path.startsWith('/docs/reference/')).map(([, text]) => text);

/** The code of each tab in a piece of HTML. */
export const codeIn = (text: string): string[] =>
  [...text.matchAll(/<pre class="call" tabindex="0"><code>(.*?)<\/code><\/pre>/gs)].map(([, code = '']) =>
    unescapeHtml(code),
  );
