import {
  type Components,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolveRef,
} from '../openapi/document.ts';
import { FOLDER_OF_TAG, FOLDERS, KEPT, VARIABLE_OF_FIELD, VARIABLE_OF_PARAMETER } from './folders.ts';

/** One request that succeeds if the earlier ones were made. Values in double braces are variables. */
export interface Step {
  operation: Operation;
  method: string;
  path: string;
  /** The values of the path parameters. */
  params: Record<string, string>;
  /** Optional query parameters are documented, but are not sent. */
  query: { name: string; value: string | number; required: boolean; description: string }[];
  headers: Record<string, string>;
  body?: unknown;
  /** The variables that the response provides, each with its path in the body. */
  kept: Record<string, string>;
}

export interface Folder {
  name: string;
  description: string;
  steps: Step[];
}

/** Returns every operation of the document as a request, by folder, in an order in which all of them succeed. */
export function foldersOf({ paths, components }: OpenApiDocument): Folder[] {
  const steps = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries<Operation>(item).map(([method, operation]) => stepOf(method, path, operation, components)),
  );
  const byName = new Map(steps.map((step) => [step.operation.operationId, step]));
  const listed = new Set(FOLDERS.flatMap(({ operations }) => operations));
  return FOLDERS.map(({ name, description, operations }) => {
    const planned = operations.flatMap((operation) => byName.get(operation) ?? []);
    const others = steps.filter(
      ({ operation }) => !listed.has(operation.operationId) && FOLDER_OF_TAG[operation.tags[0] ?? ''] === name,
    );
    return { name, description, steps: [...planned, ...others] };
  });
}

/** Returns the variables of all requests with their first values; those that a response provides are empty at first. */
export function variablesOf(folders: readonly Folder[]): Record<string, string> {
  const steps = folders.flatMap((folder) => folder.steps);
  const kept = steps.flatMap((step) => Object.keys(step.kept));
  return { ...EXAMPLES, ...Object.fromEntries(kept.map((name) => [name, ''])) };
}

/** IDs that the reader replaces, or keeps to try the simulators. */
const EXAMPLES: Record<string, string> = {
  chatId: '920000000000000001',
  gameId: '7001',
  serverId: 'c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77',
};

const PROVIDED = new Set(['guildId', ...Object.keys(EXAMPLES), ...Object.values(KEPT).flatMap(Object.keys)]);

function stepOf(method: string, path: string, operation: Operation, components: Components): Step {
  const parameters = (operation.parameters ?? []).map((parameter) => resolveRef<Parameter>(components, parameter));
  const named = (place: Parameter['in']) => parameters.filter((parameter) => parameter.in === place);
  const example = operation.requestBody?.content['application/json'].example;
  const isGuildNamed = named('header').some(({ name, required }) => name === 'X-Guild-ID' && required);
  return {
    operation,
    method: method.toUpperCase(),
    path,
    params: Object.fromEntries(named('path').map((parameter) => [parameter.name, valueOf(parameter)])),
    query: named('query').map(({ name, example: value, required = false, description }) => ({
      name,
      value: queryValue(value),
      required,
      description,
    })),
    headers: isGuildNamed ? { 'X-Guild-ID': '{{guildId}}' } : {},
    ...(example !== undefined && { body: withVariables(example) }),
    kept: KEPT[operation.operationId] ?? {},
  };
}

/** Returns the example of a query parameter, and an empty text without one. */
function queryValue(example: unknown): string | number {
  if (typeof example === 'number') return example;
  return typeof example === 'string' || typeof example === 'boolean' ? String(example) : '';
}

function valueOf({ name, example }: Parameter): string {
  const variable = VARIABLE_OF_PARAMETER[name] ?? name;
  return PROVIDED.has(variable) ? `{{${variable}}}` : String(example);
}

/** Replaces the IDs in the example of a body by variables. */
function withVariables(value: unknown, field = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => withVariables(item));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, withVariables(inside, name)]));
  }
  // A webhook starts at `now`, and a replay at an event.
  if (field === 'from' && typeof value === 'number') return '{{seq}}';
  const variable = VARIABLE_OF_FIELD[field];
  return variable === undefined ? value : `{{${variable}}}`;
}
