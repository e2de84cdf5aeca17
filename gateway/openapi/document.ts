/** The parts of OpenAPI 3.1 that the gateway's OpenAPI document uses (https://spec.openapis.org/oas/v3.1.1.html). */
export interface OpenApiDocument {
  openapi: '3.1.1';
  jsonSchemaDialect: string;
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    contact: { name: string; url: string };
    license: { name: string; url: string };
  };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  /** Rate limits by category. */
  'x-rate-limits': Record<string, RateLimit>;
  security: Record<string, string[]>[];
  paths: Record<string, Partial<Record<OperationMethod, Operation>>>;
  /** The requests that the service sends, by name. */
  webhooks: Record<string, { post: Webhook }>;
  components: Components;
}

export interface Components {
  schemas: Record<string, JsonSchema>;
  responses: Record<string, OpenApiResponse>;
  parameters: Record<string, Parameter>;
  headers: Record<string, Header>;
  examples: Record<string, Example>;
  securitySchemes: Record<string, Record<string, string>>;
}

export type OperationMethod = 'get' | 'post' | 'put' | 'patch' | 'delete';

export interface Ref {
  $ref: string;
  /** Replaces the description of the component. */
  description?: string;
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  deprecated?: boolean;
  security?: Record<string, string[]>[];
  'x-required-scope'?: string;
  /** The category in `x-rate-limits` whose limit applies. */
  'x-rate-limit'?: string;
  parameters?: (Parameter | Ref)[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, OpenApiResponse | Ref>;
}

/** A request that the service sends to a client. Its receiver only responds with a status. */
export interface Webhook extends Omit<Operation, 'responses'> {
  responses: Record<string, { description: string }>;
}

/** The rate limit of a category of routes. `window` is in seconds. */
export interface RateLimit {
  limit: number;
  window: number;
  subject: 'guild' | 'key';
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  /** Left out if it is optional. */
  required?: true;
  description: string;
  schema: JsonSchema;
  example?: unknown;
}

export interface Header {
  description: string;
  schema: JsonSchema;
}

export interface OpenApiResponse {
  description: string;
  /** The response headers, except those that every response has. */
  headers?: Record<string, Ref>;
  content: Content | StreamContent;
}

export interface Content {
  'application/json': MediaType;
}

/** The content of a response that is a stream of server-sent events. */
export interface StreamContent {
  'text/event-stream': MediaType;
}

/** Returns the only media type of a response. */
export const mediaTypeOf = (content: Content | StreamContent): MediaType =>
  'text/event-stream' in content ? content['text/event-stream'] : content['application/json'];

/** True if the response to an operation is a stream of events, which ends only when the client or the server closes it. */
export const isEventStream = ({ responses }: Pick<Operation, 'responses'>): boolean =>
  Object.values(responses).some((response) => 'content' in response && 'text/event-stream' in response.content);

export interface MediaType {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, Example | Ref>;
}

export interface Example {
  /** Left out if the message of the error says the same. */
  summary?: string;
  description?: string;
  value: unknown;
}

/** The keywords of JSON Schema, draft 2020-12, that the OpenAPI document uses. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: string;
}

const COMPONENTS = '#/components/';

/** Returns a reference to a component of the OpenAPI document, such as a schema or a response. */
export function componentRef(kind: keyof Components, name: string): Ref {
  return { $ref: `${COMPONENTS}${kind}/${name}` };
}

/** Returns the component that a $ref names, or the value itself if it is no $ref. */
export function resolveRef<Value extends object>(components: Components, value: Value | Ref): Value {
  if (!('$ref' in value) || value.$ref === undefined) return value as Value;
  const [kind = '', name = ''] = value.$ref.slice(COMPONENTS.length).split('/');
  const found = (components as unknown as Record<string, Record<string, unknown>>)[kind]?.[name];
  if (!value.$ref.startsWith(COMPONENTS) || found === undefined)
    throw new Error(`the document has no component ${value.$ref}`);
  return found as Value;
}
