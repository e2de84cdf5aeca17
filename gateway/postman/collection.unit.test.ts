import { expect, test } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { operationIdOf } from '../openapi/operation-id.ts';
import { postmanCollection } from './collection.ts';
import { FOLDERS, KEPT } from './folders.ts';
import { foldersOf } from './steps.ts';

const document = openApiDocument(ROUTES, { version: '1.2.3', serverUrl: 'https://api.example.com' });
const folders = foldersOf(document);
const collection = postmanCollection(document);
const names = [...ROUTES.map(operationIdOf), 'getHealth'];

test('every operation is in the collection once, and the plan names no others', () => {
  const found = folders.flatMap(({ steps }) => steps.map(({ operation }) => operation.operationId));
  expect(found.toSorted(), 'name the operation, or the folder of its tag, in gateway/postman/folders.ts').toEqual(
    names.toSorted(),
  );
  const planned = [...FOLDERS.flatMap(({ operations }) => operations), ...Object.keys(KEPT)];
  expect(planned.filter((name) => !names.includes(name))).toEqual([]);
});

test('every variable of a request is a variable of the collection, and was given by an earlier response if it is an ID', () => {
  const given = new Set(['baseUrl', 'key', 'guildId', 'chatId', 'gameId', 'serverId', 'stream']);
  for (const { operation, kept, params, headers, body } of folders.flatMap(({ steps }) => steps)) {
    const used = [...JSON.stringify([params, headers, body]).matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name ?? '');
    const unknown = used.filter((name) => !given.has(name));
    expect(
      [operation.operationId, unknown],
      'list the operation behind the one whose response has the ID, in gateway/postman/folders.ts',
    ).toEqual([operation.operationId, []]);
    for (const name of Object.keys(kept)) given.add(name);
  }
  expect(collection.variable.map(({ key }) => key).toSorted()).toEqual([...given].toSorted());
});

test('a request has its key in the header, its IDs from variables, and JSON as body', () => {
  expect(collection.auth.apikey).toContainEqual({ key: 'key', value: 'X-API-Key', type: 'string' });
  const requests = collection.item.flatMap(({ item }) => item);
  const removal = requests.find(({ request }) => request.method === 'DELETE' && request.url.raw.includes('/bindings/'));
  expect(removal?.request.url).toMatchObject({
    raw: '{{baseUrl}}/api/v1/bindings/remove/:bindingId',
    variable: [{ key: 'bindingId', value: '{{bindingId}}' }],
  });
  const update = requests.find(({ request }) => request.url.raw.endsWith('/bindings/update'));
  expect(update?.request.body?.raw).toContain('"binding_id": {{bindingId}}');
  expect(update?.request.header).toContainEqual({ key: 'Content-Type', value: 'application/json' });
  expect(JSON.stringify(collection)).not.toContain('[object');
});

test('the stream is sent only on demand, because it never ends', () => {
  const stream = collection.item
    .flatMap(({ item }) => item)
    .find(({ request }) => request.url.raw.includes('/events/stream'));
  expect(JSON.stringify(stream?.event)).toContain('skipRequest');
});
