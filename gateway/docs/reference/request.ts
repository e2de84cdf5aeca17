import { type Components, isEventStream, type Parameter, resolveRef } from '../../openapi/document.ts';
import type { Endpoint } from './topics.ts';

/** The name that examples give the guild ID. In a JSON body it stands for the ID until the body is written as code. */
export const GUILD = '$GUILD';

/** The example request of an operation, from which the example in each language is written. */
export interface ExampleRequest {
  method: string;
  /** The path with its query. GUILD is in the place of the guild ID. */
  target: string;
  needsKey: boolean;
  namesGuildInHeader: boolean;
  /** The JSON body; undefined if the request has none. */
  body: unknown;
  isStream: boolean;
}

/** Returns the example request of an operation: the required parameters and the body, with the document's examples. */
export function exampleRequest({ method, path, operation }: Endpoint, components: Components): ExampleRequest {
  const parameters = (operation.parameters ?? []).map((parameter) => resolveRef<Parameter>(components, parameter));
  const required = parameters.filter((parameter) => parameter.required);
  const body = operation.requestBody?.content['application/json'].example;
  return {
    method: method.toUpperCase(),
    target: withValues(path, required),
    needsKey: operation.security?.length !== 0,
    namesGuildInHeader: required.some(({ name }) => name === 'X-Guild-ID'),
    isStream: isEventStream(operation),
    body: isRecord(body) && 'guild_id' in body ? { ...body, guild_id: GUILD } : body,
  };
}

function withValues(path: string, required: Parameter[]): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'guildId' ? GUILD : encoded(required.find((found) => found.name === name)?.example),
  );
  const query = required.filter((parameter) => parameter.in === 'query');
  if (query.length === 0) return filled;
  return `${filled}?${query.map(({ name, example }) => `${name}=${encoded(example)}`).join('&')}`;
}

/** Encodes a value for a URL. Quotes are encoded too, so that the value can stand in a quoted string of any language. */
const encoded = (value: unknown): string =>
  encodeURIComponent(String(value)).replaceAll(
    /['!()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
