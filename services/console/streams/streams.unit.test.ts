import { expect, test } from 'vitest';
import { FrameReader } from './frames.ts';
import { ReplayBuffer } from './replay-buffer.ts';

const frame = (seq: number, data = 'x') => `id: ${seq}\nevent: ban.created\ndata: ${data}\n\n`;
const framesOf = (text: string) => new FrameReader().read(Buffer.from(text));

test('frames are whole, however the bytes are cut', () => {
  const text = `:\n\n${frame(1)}:\nid: 2\n\n${frame(3)}retry: 70000\n\nid: 4\n`;
  const reader = new FrameReader();
  const frames = [...Buffer.from(text)].flatMap((byte) => reader.read(Buffer.from([byte])));
  expect(frames.map(({ seq, isEvent, retryMs }) => [seq, isEvent, retryMs])).toEqual([
    [undefined, false, undefined],
    [1, true, undefined],
    [2, false, undefined],
    [3, true, undefined],
    [undefined, false, 70_000],
  ]);
  expect(Buffer.concat(frames.map(({ bytes }) => bytes)).toString() + 'id: 4\n').toBe(text);
});

test('a frame of more than 64 KiB is an error instead of growing memory', () => {
  expect(() => framesOf('x'.repeat(65_537))).toThrow('too large');
});

test('the buffer returns the events after a seq, and nothing if some of them are gone', () => {
  const buffer = new ReplayBuffer();
  buffer.startAfter(10);
  for (const one of framesOf([11, 12, 13].map((seq) => frame(seq)).join(''))) buffer.add(one);
  expect(buffer.since(11)?.join('')).toBe(frame(12) + frame(13));
  expect(buffer.since(13)).toEqual([]);
  expect(buffer.since(9)).toBeUndefined();
  expect(buffer.last(1).join('')).toBe(frame(13));
});

test('the buffer keeps at most 200 events and 128 KiB', () => {
  const buffer = new ReplayBuffer();
  buffer.startAfter(0);
  for (let seq = 1; seq <= 500; seq++) buffer.add(framesOf(frame(seq))[0] as never);
  expect(buffer.last(1_000)).toHaveLength(200);
  expect(buffer.since(299)).toBeUndefined();
  expect(buffer.since(300)).toHaveLength(200);
  for (let seq = 501; seq <= 520; seq++) buffer.add(framesOf(frame(seq, 'y'.repeat(20_000)))[0] as never);
  expect(Buffer.concat(buffer.last(1_000)).length).toBeLessThanOrEqual(128 * 1024);
});
