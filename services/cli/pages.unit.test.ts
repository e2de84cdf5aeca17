import { expect, test } from 'vitest';
import { Input } from './command.ts';
import { listOutput, type PageRequest, readPageOptions } from './pages.ts';

/** A service with numbered items. It records the requested pages. */
function service(count: number) {
  const requested: PageRequest[] = [];
  const page = async (request: PageRequest) => {
    requested.push(request);
    const from = Number(request.cursor || 0);
    const items = Array.from({ length: Math.min(request.limit, count - from) }, (_, index) => from + index + 1);
    const end = from + items.length;
    return { items, nextCursor: end < count ? String(end) : '' };
  };
  return { requested, page };
}

const OPTIONS = {
  field: 'numbers',
  none: 'There are none.',
  headings: ['NUMBER', 'SQUARE'],
  cells: (number: number) => [String(number), String(number * number)],
  document: (number: number) => ({ number }),
};

async function print(values: Record<string, unknown>, count: number, isJson: boolean, head = {}) {
  const input = new Input({ values, user: 'tester' });
  const { page, requested } = service(count);
  const written: string[] = [];
  const options = readPageOptions(input);
  input.check();
  await listOutput(options, { ...OPTIONS, head, page }).write((text) => void written.push(text), isJson);
  return { text: written.join(''), written, requested };
}

test('a page has the cursor of the next page', async () => {
  const { text, requested } = await print({ limit: '2', cursor: '3' }, 10, true, { guild_id: '1' });
  expect(JSON.parse(text)).toEqual({ guild_id: '1', numbers: [{ number: 4 }, { number: 5 }], next_cursor: '5' });
  expect(requested).toEqual([{ limit: 2, cursor: '3' }]);
  expect((await print({ limit: '2' }, 10, false)).text).toBe(
    'NUMBER  SQUARE\n1       1\n2       4\n\nThere is more: --cursor 2\n',
  );
});

test('the last page and an empty list have no next cursor', async () => {
  expect(JSON.parse((await print({}, 1, true)).text)).toEqual({ numbers: [{ number: 1 }], next_cursor: null });
  expect(JSON.parse((await print({}, 0, true)).text)).toEqual({ numbers: [], next_cursor: null });
  expect((await print({}, 0, false)).text).toBe('There are none.\n');
});

test('--all prints one document with all pages, which are written as they arrive', async () => {
  const { text, written, requested } = await print({ all: true }, 2_500, true);
  expect(JSON.parse(text).numbers).toHaveLength(2_500);
  expect(JSON.parse(text).next_cursor).toBeNull();
  expect(requested.map(({ cursor }) => cursor)).toEqual(['', '1000', '2000']);
  expect(written).toHaveLength(4);
  expect((await print({ all: true }, 2_500, false)).text.split('\n')).toHaveLength(2_502);
});

test('--all skips pages without items, and fails if a page repeats', async () => {
  const pages = [
    { items: [1], nextCursor: 'a' },
    { items: [], nextCursor: 'b' },
    { items: [2], nextCursor: 'c' },
    { items: [], nextCursor: '' },
  ];
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  const request = { first: { limit: 1, cursor: '' }, isAll: true };
  await listOutput(request, { ...OPTIONS, page: async () => pages.shift() ?? { items: [], nextCursor: '' } }).write(
    write,
    true,
  );
  expect(JSON.parse(written.join(''))).toEqual({ numbers: [{ number: 1 }, { number: 2 }], next_cursor: null });
  const stuck = listOutput(request, { ...OPTIONS, page: async () => ({ items: [1], nextCursor: 'x' }) });
  await expect(stuck.write(write, true)).rejects.toThrow('same page twice');
});

test('--limit and --all exclude each other', () => {
  const input = new Input({ values: { limit: '5', all: true }, user: 'tester' });
  readPageOptions(input);
  expect(() => input.check()).toThrow('--limit and --all exclude each other');
});
