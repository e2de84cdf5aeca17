import type { JsonSchema, OpenApiDocument } from '../../../gateway/openapi/document.ts';
import { type ClientOperation, operationsOf } from './operations.ts';
import { commentOf, typeOf } from './types.ts';

const HEADER = '// Generated from the route table by `npm run clients`. Do not edit.\n';

/** Returns the generated files of the client, by name. They are not formatted yet. */
export function clientFiles(document: OpenApiDocument): Record<string, string> {
  const operations = operationsOf(document);
  return {
    'operations-types.ts': typesFile(document, operations),
    'operations.ts': functionsFile(operations),
    'operations-methods.ts': methodsFile(operations),
    'operations-errors.ts': errorsFile(document),
  };
}

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
const argsType = ({ name }: ClientOperation) => `${capitalized(name)}Args`;
const constantOf = ({ name }: ClientOperation) => name.replaceAll(/[A-Z]/g, '_$&').toUpperCase();

/** The schemas that clients need: of responses and events. Requests are arguments, errors have a file of their own. */
function typesFile({ components }: OpenApiDocument, operations: readonly ClientOperation[]): string {
  const needed = new Set<string>();
  const add = (part: unknown): void => {
    for (const name of namesIn(part)) {
      if (needed.has(name)) continue;
      needed.add(name);
      add(components.schemas[name]);
    }
  };
  add({ $ref: '#/components/schemas/Event' });
  for (const operation of operations) {
    add(operation.args);
    if (components.schemas[operation.data]) add({ $ref: `#/components/schemas/${operation.data}` });
  }
  const schemas = [...needed].map((name) => typeDeclaration(name, components.schemas[name] ?? {}));
  const args = operations
    .filter(({ hasArgs }) => hasArgs)
    .map((operation) => {
      return typeDeclaration(argsType(operation), {
        ...operation.args,
        description: `Arguments of \`${operation.name}\`.`,
      });
    });
  return `${HEADER}import type { DurationText } from './duration.ts';\n\n${[...schemas.toSorted(), ...args].join('\n')}`;
}

const namesIn = (part: unknown): string[] =>
  [...JSON.stringify(part ?? {}).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => String(name));

function typeDeclaration(name: string, schema: JsonSchema): string {
  return `${commentOf(schema.description)}export type ${name} = ${typeOf(schema)};\n`;
}

function functionsFile(operations: readonly ClientOperation[]): string {
  const types = operations.flatMap((operation) => [operation.hasArgs ? argsType(operation) : '', operation.data]);
  return `${HEADER}import type { Client } from './client.ts';
import { type StreamEnd, type StreamOptions, streamOf } from './event-stream.ts';
import type { CallOptions, Operation } from './operation.ts';
import type { ${[...new Set(types.filter((type) => /^\w+$/.test(type)))].join(', ')} } from './operations-types.ts';
import { pagesOf } from './pages.ts';

${operations.map(functionsOf).join('\n')}`;
}

function functionsOf(operation: ClientOperation): string {
  const { comment, kind, name, data, hasArgs, hasRequiredArgs, args: _, ...description } = operation;
  const constant = constantOf(operation);
  const args = hasArgs ? `args: ${argsType(operation)}${hasRequiredArgs ? '' : ' = {}'}, ` : '';
  const given = hasArgs ? 'args' : '{}';
  const stated = `const ${constant}: Operation = ${JSON.stringify({ name, ...description })};\n\n`;
  if (kind === 'stream') {
    return `${stated}${comment}export function ${name}(client: Client, ${args}options?: StreamOptions): AsyncGenerator<${data}, StreamEnd, void> {
  return streamOf(client, ${constant}, ${given}, options);
}\n`;
  }
  const call = `${stated}${comment}export function ${name}(client: Client, ${args}options?: CallOptions): Promise<${data}> {
  return client.request(${constant}, ${given}, options);
}\n`;
  if (kind !== 'pages') return call;
  return `${call}
/** The pages of \`${name}\`, one after the other, from \`cursor\` on. */
export function ${name}Pages(client: Client, ${args}options?: CallOptions): AsyncGenerator<${data}, void, void> {
  return pagesOf((page: ${argsType(operation)}) => ${name}(client, page, options), ${given});
}\n`;
}

function methodsFile(operations: readonly ClientOperation[]): string {
  const types = operations.flatMap((operation) => [operation.hasArgs ? argsType(operation) : '', operation.data]);
  return `${HEADER}import { Client } from './client.ts';
import type { StreamEnd, StreamOptions } from './event-stream.ts';
import type { CallOptions } from './operation.ts';
import type { ${[...new Set(types.filter((type) => /^\w+$/.test(type)))].join(', ')} } from './operations-types.ts';
import * as operations from './operations.ts';

/** A client with one method per operation. */
export class OperationMethods extends Client {
${operations.map(methodsOf).join('\n')}}\n`;
}

function methodsOf(operation: ClientOperation): string {
  const { comment, kind, name, data, hasArgs, hasRequiredArgs } = operation;
  const args = hasArgs ? `args${hasRequiredArgs ? '' : '?'}: ${argsType(operation)}, ` : '';
  const given = hasArgs ? 'args, ' : '';
  const options = kind === 'stream' ? 'StreamOptions' : 'CallOptions';
  const result = kind === 'stream' ? `AsyncGenerator<${data}, StreamEnd, void>` : `Promise<${data}>`;
  const method = `${comment}  ${name}(${args}options?: ${options}): ${result} {
    return operations.${name}(this, ${given}options);
  }\n`;
  if (kind !== 'pages') return method;
  return `${method}
  /** The pages of \`${name}\`, one after the other, from \`cursor\` on. */
  ${name}Pages(${args}options?: CallOptions): AsyncGenerator<${data}, void, void> {
    return operations.${name}Pages(this, ${given}options);
  }\n`;
}

function errorsFile({ components }: OpenApiDocument): string {
  const codes = (components.schemas['ErrorCode']?.enum ?? []).map(String);
  const details = (code: string) => components.schemas[`${pascal(code)}Details`];
  const types = codes.map((code) =>
    typeDeclaration(
      `${pascal(code)}Details`,
      details(code) ?? { type: 'object', properties: { code: { const: code } }, required: ['code'] },
    ),
  );
  const classes = codes.map(
    (code) =>
      `/** The error \`${code}\`. */\nexport class ${pascal(code)}Error extends ApiError<${pascal(code)}Details> {}\n`,
  );
  const rows = codes.map((code) => `  ${code}: ${pascal(code)}Error,\n`);
  return `${HEADER}import { ApiError } from './errors.ts';

/** A fault of a request. */
export type Fault = ${typeOf(components.schemas['Fault'] ?? {})};

${types.join('\n')}
${classes.join('\n')}
/** The class of each error code. */
export const ERROR_CLASSES = {
${rows.join('')}} as const;

/** The code of an error of the API. Later versions of the API may have more. */
export type ErrorCode = keyof typeof ERROR_CLASSES;

/** An error of the API with a known code. A comparison of \`code\` narrows \`details\`. */
export type KnownError = InstanceType<(typeof ERROR_CLASSES)[ErrorCode]>;

/** True for errors of the API whose code this version of the client knows, so that \`code\` narrows \`details\`. */
export function isKnownError(error: unknown): error is KnownError {
  return error instanceof ApiError && error.code in ERROR_CLASSES;
}
`;
}

const pascal = (code: string) =>
  code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
