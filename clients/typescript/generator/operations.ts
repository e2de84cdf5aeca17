import { branchesOf } from '../../../gateway/openapi/alternatives.ts';
import type { JsonSchema, OpenApiDocument, Operation, Parameter } from '../../../gateway/openapi/document.ts';
import { mediaTypeOf, resolveRef } from '../../../gateway/openapi/document.ts';
import { commentOf, typeOf } from './types.ts';

/** The parameter of the path, and the field of a body, that the client fills in. */
const GUILD = { path: 'guildId', body: 'guild_id' } as const;

/** An operation with everything that its function, its method and its types need. */
export interface ClientOperation {
  name: string;
  method: string;
  path: string;
  guild: 'path' | 'header' | 'body' | 'none';
  hasBody: boolean;
  writes: boolean;
  limit: { category: string; requests: number } | undefined;
  comment: string;
  /** The arguments: an object schema without the guild. */
  args: JsonSchema;
  hasArgs: boolean;
  hasRequiredArgs: boolean;
  /** The type of `data`, or of each event of a stream. */
  data: string;
  kind: 'data' | 'stream' | 'pages';
}

/** Reads all operations of the document. */
export function operationsOf(document: OpenApiDocument): ClientOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => readOperation(document, path, method, operation)),
  );
}

function readOperation(document: OpenApiDocument, path: string, method: string, operation: Operation): ClientOperation {
  const { components } = document;
  const parameters = (operation.parameters ?? []).map((parameter) => resolveRef<Parameter>(components, parameter));
  const content = operation.requestBody?.content['application/json'].schema;
  const body = content && resolveRef<JsonSchema>(components, content);
  const guild = guildOf(path, operation, body);
  const args = argumentsOf(operation.operationId, parameters, body);
  const category = operation['x-rate-limit'];
  const response = successOf(document, operation);
  return {
    name: operation.operationId,
    method: method.toUpperCase(),
    path,
    guild,
    hasBody: body !== undefined,
    writes: parameters.some(({ name }) => name === 'Idempotency-Key'),
    limit: category === undefined ? undefined : { category, requests: document['x-rate-limits'][category]?.limit ?? 0 },
    comment: commentOf(textOf(operation)),
    args,
    hasArgs: Object.keys(args.properties ?? {}).length > 0 || body !== undefined,
    hasRequiredArgs: hasRequired(args),
    ...response,
  };
}

function textOf({ summary, description, 'x-required-scope': scope }: Operation): string {
  const parts = [
    `${summary}.`,
    description === `${summary}.` ? '' : description,
    scope && `The key needs the scope \`${scope}\`.`,
  ];
  return parts.filter(Boolean).join('\n\n');
}

/** Where a request names the guild. Without need too, so that a key of another guild is rejected. */
function guildOf(path: string, { security }: Operation, body: JsonSchema | undefined): ClientOperation['guild'] {
  if (path.includes(`{${GUILD.path}}`)) return 'path';
  if (body?.required?.includes(GUILD.body)) return 'body';
  return security?.length === 0 ? 'none' : 'header';
}

/** The parameters of the path and the query together with the fields of the body, without the guild. */
function argumentsOf(operationId: string, parameters: readonly Parameter[], body: JsonSchema | undefined): JsonSchema {
  const own = parameters.filter(({ name, in: place }) => place !== 'header' && name !== GUILD.path);
  const { [GUILD.body]: _, ...fields } = body?.properties ?? {};
  const clash = own.find(({ name, in: place }) => name in fields || (body && place === 'query'));
  if (clash) throw new Error(`${operationId}: the argument ${clash.name} would be ambiguous`);
  const given = own.map(({ name, schema, description }) => [name, { ...schema, description }] as const);
  return {
    ...body,
    type: 'object',
    properties: { ...Object.fromEntries(given), ...fields },
    required: [
      ...own.filter(({ required }) => required).map(({ name }) => name),
      ...(body?.required ?? []).filter((name) => name !== GUILD.body),
    ],
  };
}

function successOf(document: OpenApiDocument, operation: Operation): Pick<ClientOperation, 'data' | 'kind'> {
  const [status = ''] = Object.keys(operation.responses).filter((key) => key.startsWith('2'));
  const response = operation.responses[status];
  if (!response || !('content' in response)) throw new Error(`${operation.operationId} has no response`);
  if ('text/event-stream' in response.content) return { data: 'Event', kind: 'stream' };
  const data = mediaTypeOf(response.content).schema.properties?.['data'] ?? {};
  const resolved = resolveRef<JsonSchema>(document.components, data);
  return { data: typeOf(data), kind: resolved.properties && 'next_cursor' in resolved.properties ? 'pages' : 'data' };
}

/** True if every value of the schema has some field: a common one, or one of each of its alternatives. */
function hasRequired(schema: JsonSchema): boolean {
  const branches = branchesOf(schema);
  return (schema.required ?? []).length > 0 || (branches.length > 0 && branches.every(hasRequired));
}
