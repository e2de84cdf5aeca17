import { isEventStream, type OpenApiDocument } from '#gateway/openapi/document.ts';
import { NUMBERS } from '#gateway/postman/folders.ts';
import { foldersOf, type Step, variablesOf } from '#gateway/postman/steps.ts';

/** Returns the TypeScript files with a well-formed call of every operation, for each generated client. */
export function callFiles(document: OpenApiDocument): [file: string, text: string][] {
  const folders = foldersOf(document);
  const steps = folders.flatMap((folder) => folder.steps);
  const names = ['guildId', ...Object.keys(variablesOf(folders))];
  const fields = names.map((name) => `  ${name}: ${NUMBERS.includes(name) ? 'number' : 'string'};`);
  const values = `export interface Values {\n${fields.join('\n')}\n}\n`;
  return [
    ['values.ts', values],
    ['calls-openapi-fetch.ts', openApiFetch(steps)],
    ['calls-hey-api.ts', heyApi(steps)],
  ];
}

const openApiFetch = (steps: readonly Step[]) =>
  callFile(
    [
      ['createClient', 'openapi-fetch'],
      ['type { paths }', './openapi-typescript.js'],
    ],
    'createClient<paths>',
    steps.map((step) => [step, `client.${step.method}('${step.path}', ${fetchOptions(step)})`]),
  );

const heyApi = (steps: readonly Step[]) =>
  callFile(
    [
      ['{ createClient }', './hey-api/client/index.js'],
      ['* as sdk', './hey-api/sdk.gen.js'],
    ],
    'createClient',
    steps.map((step) => [step, `sdk.${step.operation.operationId}(${heyOptions(step)})`]),
  );

/** Returns a file that exports a function for each call. */
function callFile(imports: [names: string, from: string][], create: string, calls: [Step, call: string][]): string {
  const all = [...imports, ['type { Values }', './values.js']];
  return [
    ...all.map(([names, from]) => `import ${names} from '${from}';`),
    'export function callsOf(baseUrl: string, key: string) {',
    `  const client = ${create}({ baseUrl, headers: { 'X-API-Key': key } });`,
    '  return {',
    ...calls.map(([step, call]) => `    ${step.operation.operationId}: (values: Values) => ${call},`),
    '  };',
    '}\n',
  ].join('\n');
}

function fetchOptions(step: Step): string {
  const { path, query, header, body } = partsOf(step);
  const params = fieldsOf({ path, query, header });
  const parts = [...(params ? [`params: { ${params} }`] : []), ...(body ? [`body: ${body}`] : [])];
  return `{ ${[...parts, ...(isEventStream(step.operation) ? ["parseAs: 'stream'"] : [])].join(', ')} }`;
}

function heyOptions(step: Step): string {
  const { path, query, header, body } = partsOf(step);
  return `{ ${['client', fieldsOf({ path, query, headers: header, body })].filter(Boolean).join(', ')} }`;
}

/** Returns the parts of a request as TypeScript; undefined if a part is empty. */
function partsOf(step: Step): Record<'path' | 'query' | 'header' | 'body', string | undefined> {
  const { params, query, headers, body } = step;
  const required = query.filter((parameter) => parameter.required).map(({ name, value }) => [name, value]);
  return {
    path: objectLiteral(params),
    // A stream from the first event sends something at once.
    query: objectLiteral(isEventStream(step.operation) ? { after: 0 } : Object.fromEntries(required)),
    header: objectLiteral(headers),
    body: body === undefined ? undefined : literal(body),
  };
}

const objectLiteral = (value: object) => (Object.keys(value).length === 0 ? undefined : literal(value));

const fieldsOf = (parts: Record<string, string | undefined>): string =>
  Object.entries(parts)
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `${name}: ${text}`)
    .join(', ');

/** Writes a value as TypeScript, with the variables as fields of `values`. */
const literal = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/"\{\{(\w+)\}\}"/g, (_, name: string) => `values.${name}`);

/** The statuses with which an operation may succeed. */
export const successStatuses = ({ operation }: Step): number[] =>
  Object.keys(operation.responses)
    .map(Number)
    .filter((status) => status < 400);
