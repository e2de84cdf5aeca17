import { expect, test, vi } from 'vitest';
import { gatherLines } from './log-output.ts';

test('lines of one turn of the event loop leave in one write, in order, and those of the next in another', async () => {
  const writes: string[] = [];
  const lines = gatherLines({ write: (text: string) => void writes.push(text) });
  lines.write('1\n');
  lines.write('2\n');
  expect(writes).toEqual([]);
  await vi.waitFor(() => expect(writes).toEqual(['1\n2\n']));
  lines.write('3\n');
  await vi.waitFor(() => expect(writes).toEqual(['1\n2\n', '3\n']));
});
