import { expect, test } from 'vitest';
import { batchLines } from './log-output.ts';

test('the lines of one turn of the event loop are written together, in order', async () => {
  const writes: string[] = [];
  const lines = batchLines({ write: (text: string) => void writes.push(text) });
  lines.write('1\n');
  lines.write('2\n');
  expect(writes).toEqual([]);
  await expect.poll(() => writes).toEqual(['1\n2\n']);
  lines.write('3\n');
  await expect.poll(() => writes).toEqual(['1\n2\n', '3\n']);
});
