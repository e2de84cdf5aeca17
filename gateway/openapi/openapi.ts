import { z } from 'zod';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import type { Components, OpenApiDocument, Operation, OperationMethod } from './document.ts';
import { exampleOf } from './examples.ts';
import { HEADERS, headerRefs } from './headers.ts';
import { toJsonSchema } from './json-schema.ts';
import { operationOf } from './operation.ts';
import { SHARED_PARAMETERS } from './parameters.ts';
import { successEnvelope, unavailableResponse } from './responses.ts';
import { RULES } from './rules.ts';
import { addDiscriminator, webhookOperation } from './webhooks.ts';

export interface OpenApiOptions {
  /** The version of this build of the gateway. */
  version: string;
  /** The public URL of the gateway, without API_PREFIX. */
  serverUrl: string;
}

const TAGS: Record<string, string> = {
  gateway: 'Your API key, and the health of the gateway',
  lookup: 'Links between chat accounts and game accounts',
  bindings: 'Rules that give chat roles to members with matching game data',
  moderation: 'Bans and mutes in the game, and the flagged list',
  members: 'Members, account verification, and sync of roles and nicknames',
  activity: 'Staff activity, game servers and commands',
  events: 'Everything that happens to the data of your guild: read it, stream it, or receive it by webhook',
};

const SECURITY_SCHEMES = {
  ApiKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key' },
  AuthorizationApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`ApiKey`, a space, and the key',
  },
  AuthorizationBearer: { type: 'http', scheme: 'bearer', description: '`Bearer`, a space, and the key' },
};

/** Builds the OpenAPI 3.1 document from the route table. */
export function openApiDocument(routes: readonly Route[], { version, serverUrl }: OpenApiOptions): OpenApiDocument {
  const components: Components = {
    schemas: {},
    responses: {},
    parameters: SHARED_PARAMETERS,
    headers: HEADERS,
    securitySchemes: SECURITY_SCHEMES,
  };
  const document: OpenApiDocument = {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: { title: 'Guild Data', version, summary: 'Read and write the data of your guild', description: RULES },
    servers: [{ url: serverUrl }],
    tags: [...new Set([...routes.map(({ service }) => service), 'events'])].map((name) => ({
      name,
      description: TAGS[name] ?? name,
    })),
    security: Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] })),
    paths: { ...pathsOf(routes, components), '/healthz': { get: healthOperation(components) } },
    webhooks: { event: { post: webhookOperation(components) } },
    components,
  };
  addDiscriminator(components.schemas['Event']);
  // The JSON round trip drops undefined properties, so that the object equals the JSON that clients get.
  return JSON.parse(JSON.stringify(document));
}

function pathsOf(routes: readonly Route[], components: Components): OpenApiDocument['paths'] {
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    const path = API_PREFIX + route.path.replaceAll(/:(\w+)/g, '{$1}');
    const method = route.method.toLowerCase() as OperationMethod;
    paths[path] = { ...paths[path], [method]: operationOf(route, components) };
  }
  return paths;
}

/**
 * Describes `GET /healthz`, which is not in the route table because it needs no API key and counts towards no rate
 * limit.
 */
function healthOperation(components: Components): Operation {
  const schema = successEnvelope(200, 'ready', toJsonSchema(z.object({}), 'output', {}));
  return {
    operationId: 'healthz',
    summary: 'Check gateway health',
    description: 'For load balancers. Needs no API key and has no rate limit.',
    tags: ['gateway'],
    security: [],
    responses: {
      '200': {
        description: 'The gateway accepts requests',
        headers: headerRefs(['X-Request-Id']),
        content: { 'application/json': { schema, example: exampleOf(schema, components) } },
      },
      '503': unavailableResponse(components),
    },
  };
}
