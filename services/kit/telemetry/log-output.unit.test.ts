import { expect, test } from 'vitest';
import { gatherLines } from './log-output.ts';

test('lines of one turn of the event loop leave in one write, in order, and those of the next in another', async () => {
  const writes: string[] = [];
  const lines = gatherLines({ write: (text: string) => void writes.push(text) });
  lines.write('1\n');
  lines.write('2\n');
  expect(writes).toEqual([]);
  await expect.poll(() => writes).toEqual(['1\n2\n']);
  lines.write('3\n');
  await expect.poll(() => writes).toEqual(['1\n2\n', '3\n']);
});
