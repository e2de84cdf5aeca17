import { isEventStream, type OpenApiDocument } from '../openapi/document.ts';
import { NUMBERS } from './folders.ts';
import { type Folder, foldersOf, type Step, variablesOf } from './steps.ts';

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/** The variable that must be `yes` for the request of a stream, which never ends, to be sent. */
const STREAM_VARIABLE = 'stream';

const SETUP =
  `Set the variables \`baseUrl\`, \`key\` and \`guildId\` of the collection, and then run the folders from top to bottom: the
requests in a folder create what later requests need, and store its IDs in variables. Replace \`chatId\`, \`gameId\` and
\`serverId\` by IDs of your own. The request of the event stream is sent only if the variable \`stream\` is \`yes\`.`.replaceAll(
    '\n',
    ' ',
  );

/** Builds a Postman collection, version 2.1, with a request for every operation of the OpenAPI document. */
export function postmanCollection(document: OpenApiDocument) {
  const folders = foldersOf(document);
  const variables = {
    baseUrl: document.servers[0]?.url ?? '',
    key: '',
    guildId: '',
    ...variablesOf(folders),
    [STREAM_VARIABLE]: 'no',
  };
  return {
    info: { name: document.info.title, description: SETUP, schema: SCHEMA, version: document.info.version },
    auth: {
      type: 'apikey',
      apikey: [
        { key: 'key', value: 'X-API-Key', type: 'string' },
        { key: 'value', value: '{{key}}', type: 'string' },
        { key: 'in', value: 'header', type: 'string' },
      ],
    },
    variable: Object.entries(variables).map(([key, value]) => ({ key, value, type: 'string' })),
    item: folders.map(folderItem),
  };
}

const folderItem = ({ name, description, steps }: Folder) => ({ name, description, item: steps.map(requestItem) });

function requestItem({ operation, method, path, params, query, headers, body, kept }: Step) {
  const isPublic = operation.security?.length === 0;
  const segments = path
    .split('/')
    .slice(1)
    .map((segment) => segment.replace(/^\{(\w+)\}$/, ':$1'));
  const sent = query.filter(({ required }) => required).map(({ name, value }) => `${name}=${value}`);
  const given = Object.entries({ ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) });
  const event = [
    ...(isEventStream(operation) ? [script('prerequest', SKIP_STREAM)] : []),
    script('test', [`pm.test('succeeds', () => pm.response.to.be.success);`, ...Object.entries(kept).map(keep)]),
  ];
  return {
    name: operation.summary,
    event,
    request: {
      ...(isPublic && { auth: { type: 'noauth' } }),
      method,
      description: operation.description,
      header: given.map(([key, value]) => ({ key, value })),
      url: {
        raw: `{{baseUrl}}/${segments.join('/')}${sent.length > 0 ? `?${sent.join('&')}` : ''}`,
        host: ['{{baseUrl}}'],
        path: segments,
        variable: Object.entries(params).map(([key, value]) => ({ key, value })),
        query: query.map(({ name, value, required, description }) => ({
          key: name,
          value: String(value),
          description,
          ...(!required && { disabled: true }),
        })),
      },
      ...(body !== undefined && {
        body: { mode: 'raw', raw: textOf(body), options: { raw: { language: 'json' } } },
      }),
    },
    response: [],
  };
}

/** The JSON of a body, in which variables that are numbers have no quotes. */
function textOf(body: unknown): string {
  const text = JSON.stringify(body, null, 2);
  return NUMBERS.reduce((result, name) => result.replaceAll(`"{{${name}}}"`, `{{${name}}}`), text);
}

const script = (listen: 'prerequest' | 'test', exec: string[]) => ({
  listen,
  script: { type: 'text/javascript', exec },
});

const SKIP_STREAM = [
  '// The response never ends, so a run of the collection would stop here.',
  `if (pm.variables.get('${STREAM_VARIABLE}') !== 'yes') pm.execution.skipRequest();`,
];

/** Stores a value of the response in a variable of the collection. */
const keep = ([variable, path]: [string, string]) =>
  `if (pm.response.code < 300) pm.collectionVariables.set('${variable}', String(pm.response.json().${path}));`;
