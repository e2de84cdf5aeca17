import { z } from 'zod';
import { CATEGORIES, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import { separateEnums, shareAlternatives } from './alternatives.ts';
import {
  type Components,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  type OperationMethod,
  type Parameter,
  type RateLimit,
  resolveRef,
} from './document.ts';
import { headersTooLargeResponse, shareErrorExamples, unavailableResponse } from './error-responses.ts';
import { dropImpliedExamples, dropRepeatedExamples, shareExamples } from './examples.ts';
import { HEADERS, usedHeaders } from './headers.ts';
import { inlineParts, inlineSchemas } from './inline-schemas.ts';
import { toJsonSchema } from './json-schema.ts';
import { operationOf } from './operation.ts';
import { SHARED_PARAMETERS } from './parameters.ts';
import { dropResponseLimits } from './response-limits.ts';
import { successContent } from './responses.ts';
import { RULES } from './rules.ts';
import { shareParameters } from './shared-parameters.ts';
import { shareCommonFields, shareProperties } from './shared-properties.ts';
import { shareNullables, shareScalars } from './shared-scalars.ts';
import { completeEvents, inlineEvents, webhookOperation } from './webhooks.ts';

export interface OpenApiOptions {
  /** The version of this build of the gateway. */
  version: string;
  /** The public URL of the gateway, without API_PREFIX. */
  serverUrl: string;
  /** True if the schemas of each body and `data` have names, from which our clients are generated. */
  hasAllNames?: boolean;
}

const TAGS: Record<string, string> = {
  gateway: 'Your API key, and the health of the gateway',
  auth: 'Usage and quotas of the guild',
  lookup: 'Links between chat accounts and game accounts',
  bindings: 'Rules that give chat roles to members with matching game data',
  moderation: 'Bans and mutes in the game, and the flagged list',
  members: 'Members, account verification, and sync of roles and nicknames',
  activity: 'Staff activity, game servers and commands',
  events: 'What happens to the data of your guild: read, streamed, or by webhook',
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

/** The rate limit of each category. */
const RATE_LIMITS = Object.fromEntries(
  Object.entries(CATEGORIES).map(([category, { limit, per }]): [string, RateLimit] => [
    category,
    { limit, window: WINDOW_SECONDS, subject: per },
  ]),
);

/** Builds the OpenAPI 3.1 document from the route table. */
export function openApiDocument(
  routes: readonly Route[],
  { version, serverUrl, hasAllNames = false }: OpenApiOptions,
): OpenApiDocument {
  const components: Components = {
    schemas: {},
    responses: {},
    parameters: { ...SHARED_PARAMETERS },
    headers: HEADERS,
    examples: {},
    securitySchemes: SECURITY_SCHEMES,
  };
  const document: OpenApiDocument = {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Guild Data',
      version,
      summary: 'Read and write the data of your guild',
      description: RULES,
      contact: { name: 'The operator of this installation', url: `${serverUrl}/docs` },
      license: { name: 'Terms of the operator of this installation', url: `${serverUrl}/docs` },
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set([...routes.map(({ service }) => service), 'events'])].map((name) => ({
      name,
      description: TAGS[name] ?? name,
    })),
    'x-rate-limits': RATE_LIMITS,
    security: Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] })),
    paths: { ...pathsOf(routes, components), '/healthz': { get: healthOperation(components) } },
    webhooks: { event: { post: webhookOperation(components) } },
    components,
  };
  shareScalars(components.schemas, parameterSchemas(document));
  shareProperties(components.schemas);
  shareCommonFields(components.schemas);
  shareExamples(document);
  document.components.headers = usedHeaders(document);
  completeEvents(components.schemas);
  shareParameters(document);
  shareNullables(components.schemas);
  shareErrorExamples(components);
  separateEnums(components.schemas);
  dropResponseLimits(document);
  dropRepeatedExamples(document);
  if (!hasAllNames) {
    shareAlternatives(components.schemas);
    inlineSchemas(document);
    inlineEvents(components.schemas);
    inlineParts(document);
  }
  dropImpliedExamples(document);
  // The JSON round trip drops undefined properties, so that the object equals the JSON that clients get.
  return JSON.parse(JSON.stringify(document));
}

/** Returns the schemas of all parameters. */
function parameterSchemas({ paths, components }: OpenApiDocument): JsonSchema[] {
  const operations = Object.values(paths).flatMap((item) => Object.values<Operation>(item));
  const parameters = operations.flatMap(({ parameters: given = [] }) => given);
  return parameters.map((parameter) => resolveRef<Parameter>(components, parameter).schema);
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
  const data = toJsonSchema(z.object({}), 'output', {});
  return {
    operationId: 'getHealth',
    summary: 'Check gateway health',
    description: 'For load balancers. Needs no API key and has no rate limit.',
    tags: ['gateway'],
    security: [],
    responses: {
      '200': {
        description: 'The gateway accepts requests',
        content: successContent(data, components),
      },
      '431': headersTooLargeResponse(components),
      '503': unavailableResponse(components),
    },
  };
}
