import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { CallerLeft } from '#kit/http/upstream.ts';
import { receiveBody } from './body.ts';

const newRequest = () => new PassThrough() as unknown as IncomingMessage & PassThrough;

test('a body is read to its end', async () => {
  const request = newRequest();
  request.write('{"a"');
  request.end(':1}');
  expect((await receiveBody(request)).toString()).toBe('{"a":1}');
});

test('a browser that left before the body is read ends the request, and keeps no slot', async () => {
  const request = newRequest();
  request.write('{');
  request.destroy();
  await new Promise((resolve) => request.once('close', resolve));
  await expect(receiveBody(request)).rejects.toThrow(CallerLeft);
});

test('a browser that leaves while the body is read ends the request', async () => {
  const request = newRequest();
  const body = receiveBody(request);
  request.destroy();
  await expect(body).rejects.toThrow(CallerLeft);
});
