import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { listening } from '#test/listening.ts';
import { noteHeader, writeAnswerHead } from './answer-headers.ts';

test('noted headers are written with the head, where it does not name them itself, and with those that were set', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('x-set', 'set');
    noteHeader(response, 'x-noted', 'noted');
    noteHeader(response, 'x-both', 'noted');
    noteHeader(response, 'x-number', 7);
    writeAnswerHead(response, 202, { 'x-both': 'given' }, 'Taken');
    response.end();
  });
  const { url, close } = await listening(server);
  try {
    const { status, statusText, headers } = await fetch(url);
    expect([status, statusText]).toEqual([202, 'Taken']);
    const told = ['x-set', 'x-noted', 'x-both', 'x-number'].map((name) => headers.get(name));
    expect(told).toEqual(['set', 'noted', 'given', '7']);
  } finally {
    close();
  }
});
