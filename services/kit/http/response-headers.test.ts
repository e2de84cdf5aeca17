import { createServer, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { listening } from '#test/network/listening.ts';
import { addResponseHeader, type HeaderList, writeResponseHead } from './response-headers.ts';

const GIVEN: Readonly<HeaderList> = ['x-both', 'given', 'set-cookie', 'a', 'set-cookie', 'b', 'set-cookie', ['c', 'd']];

/** The head of a response as a client receives it. */
async function headOf(prepare: (response: ServerResponse) => void): Promise<Response> {
  const server = createServer((_request, response) => {
    prepare(response);
    writeResponseHead(response, 202, GIVEN, 'Taken');
    response.end();
  });
  const { url, close } = await listening(server);
  try {
    return await fetch(url);
  } finally {
    close();
  }
}

test.each([
  ['alone', () => undefined, null],
  // Node writes headers in another way after setHeader.
  ['with those that were set', (response: ServerResponse) => void response.setHeader('x-set', 'set'), 'set'],
])('added headers are written unless the head has the same name: %s', async (_how, set, isSet) => {
  const { status, statusText, headers } = await headOf((response) => {
    set(response);
    addResponseHeader(response, 'x-noted', 'first');
    addResponseHeader(response, 'x-noted', 'second');
    addResponseHeader(response, 'x-both', 'noted');
    addResponseHeader(response, 'x-number', 7);
  });
  expect([status, statusText]).toEqual([202, 'Taken']);
  const written = ['x-set', 'x-noted', 'x-both', 'x-number'].map((name) => headers.get(name));
  expect(written).toEqual([isSet, 'first', 'given', '7']);
  expect(headers.getSetCookie()).toEqual(['a', 'b', 'c', 'd']);
});
