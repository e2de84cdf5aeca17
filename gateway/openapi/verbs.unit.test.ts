import { expect, test } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import { operationIdOf } from './operation-id.ts';

/** The verbs with which the name of an operation begins, each with the methods of the operations that have it. */
const VERBS: Record<string, readonly string[]> = {
  // Reads. A batch of IDs is too long for a query and is sent as POST.
  get: ['GET', 'POST'],
  list: ['GET'],
  find: ['GET'],
  check: ['GET', 'POST'],
  reverse: ['POST'],
  poll: ['GET'],
  stream: ['GET'],
  test: ['POST'],
  validate: ['POST'],
  search: ['GET'],
  resolve: ['POST'],
  explain: ['GET'],
  preview: ['POST'],
  // Writes
  add: ['POST'],
  create: ['POST'],
  register: ['POST'],
  update: ['PATCH'],
  remove: ['DELETE'],
  delete: ['DELETE'],
  link: ['POST'],
  unlink: ['POST'],
  redeem: ['POST'],
  sync: ['POST'],
  ban: ['POST'],
  unban: ['POST'],
  mute: ['POST'],
  unmute: ['POST'],
  flag: ['PUT'],
  unflag: ['DELETE'],
  log: ['POST'],
  start: ['POST'],
  end: ['POST'],
  send: ['POST'],
  acknowledge: ['POST'],
  cancel: ['DELETE'],
  rotate: ['POST'],
  replay: ['POST'],
};

test('the name of each operation is a known verb and what it is about, and fits its method', () => {
  const wrong = ROUTES.filter((row) => {
    const [, verb = '', subject = ''] = /^([a-z]+)([A-Z]\w*)$/.exec(operationIdOf(row)) ?? [];
    return !VERBS[verb]?.includes(row.method) || subject === '';
  });
  // The only name without a verb is that of a command which readers know.
  expect(
    wrong.map(operationIdOf),
    'begin the operationId with a verb of VERBS that has this method, or add a verb there',
  ).toEqual(['whoami']);
});

test('a list returns rows, and a page of them has a cursor', () => {
  for (const row of ROUTES.filter((route) => route.query?.shape['cursor'])) {
    const name = operationIdOf(row);
    const isList = name.startsWith('list') || row.data.shape['next_cursor'] !== undefined;
    expect([name, isList]).toEqual([name, true]);
  }
});

/** Verbs of operations that undo what others do. */
const UNDOES: Record<string, string> = {
  remove: 'add',
  delete: 'create',
  unlink: 'link',
  unban: 'ban',
  unmute: 'mute',
  unflag: 'flag',
  end: 'start',
  cancel: 'send',
};

test('an operation that undoes another one has the opposite verb and the same subject', () => {
  const names = ROUTES.map(operationIdOf);
  const alone = names.filter((name) => {
    const [, verb = '', subject = ''] = /^([a-z]+)([A-Z]\w*)$/.exec(name) ?? [];
    return UNDOES[verb] !== undefined && !names.includes(UNDOES[verb] + subject);
  });
  expect(alone).toEqual([]);
});
