import { expect, test } from 'vitest';
import { readMessages, type StreamMessage } from './event-stream.ts';

async function messagesIn(...chunks: string[]): Promise<StreamMessage[]> {
  async function* source() {
    yield* chunks;
  }
  const messages: StreamMessage[] = [];
  for await (const message of readMessages(source())) messages.push(message);
  return messages;
}

const STREAM = ': hello\n\nid: 1\nevent: ban.created\ndata: {"seq":1}\n\n: kept alive\nid: 7\n\nretry: 500\n\n';
const MESSAGES = [{ id: '1', event: 'ban.created', data: '{"seq":1}' }, { id: '7' }, { retry: '500' }];

test('reads events, positions and retry, and leaves comments out', async () => {
  expect(await messagesIn(STREAM)).toEqual(MESSAGES);
  expect(await messagesIn(STREAM.replaceAll('\n', '\r\n'))).toEqual(MESSAGES);
});

test('the parts in which a stream arrives do not matter', async () => {
  expect(await messagesIn(...STREAM.split(''))).toEqual(MESSAGES);
  expect(await messagesIn(...STREAM.replaceAll('\n', '\r\n').split(''))).toEqual(MESSAGES);
});

test('a message that is not complete is left out', async () => {
  expect(await messagesIn('id: 1\ndata: {"seq":1}\n')).toEqual([]);
});

test('joins lines of data, and takes a field without a space or a value', async () => {
  expect(await messagesIn('data:a\ndata\ndata: b\nother: c\n\n')).toEqual([{ data: 'a\n\nb' }]);
});

test('rejects an event without an end', async () => {
  const parts = Array.from({ length: 5 }, () => 'x'.repeat(1024 * 1024));
  await expect(messagesIn(...parts)).rejects.toThrow('too large');
});
