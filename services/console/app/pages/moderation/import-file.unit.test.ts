import { expect, test } from 'vitest';
import { MAX_IMPORT_ROWS, parseImport } from './import-file.ts';

const defaults = { reason: 'Shared list', category: 'exploiter' };

test('a file with one ID per line gets the reason and category that were entered', () => {
  const { rows, wrong } = parseImport('\uFEFF7001\r\n\r\n7002\n', defaults);
  expect(wrong).toEqual([]);
  expect(rows).toEqual([
    { line: 1, gameId: '7001', username: null, ...defaults },
    { line: 3, gameId: '7002', username: null, ...defaults },
  ]);
});

test('columns are those of the headings, in any order', () => {
  const { rows } = parseImport('Reason;User ID;other\nSpam;7001;x', defaults);
  expect(rows).toEqual([{ line: 2, gameId: '7001', reason: 'Spam', category: 'exploiter', username: null }]);
});

test('a cell in quotes may hold separators and quotes', () => {
  const { rows } = parseImport('7001,"Sells, and says ""mine""",scammer,Ada', defaults);
  expect(rows).toEqual([
    { line: 1, gameId: '7001', reason: 'Sells, and says "mine"', category: 'scammer', username: 'Ada' },
  ]);
});

test('a line that cannot be imported is listed with its number and the reason', () => {
  const content = ['7001', 'ada', '7001', '99999999999999999', `7002,${'x'.repeat(401)}`].join('\n');
  const { rows, wrong } = parseImport(content, defaults);
  expect(rows.map(({ line }) => line)).toEqual([1]);
  expect(wrong.map(({ line, fault }) => `${line} ${fault}`)).toEqual([
    '2 is not a game ID: digits only, at most 16',
    '3 is a repeated ID',
    '4 is not a game ID: digits only, at most 16',
    '5 has no reason, or one above 400 characters',
  ]);
});

test('without a reason and a category of its own a line needs those that were entered', () => {
  const { rows, wrong } = parseImport('7001\n7002,Spam,spammer', { reason: ' ', category: '' });
  expect(rows.map(({ gameId }) => gameId)).toEqual(['7002']);
  expect(wrong.map(({ line }) => line)).toEqual([1]);
});

test('an import has at most 10,000 rows', () => {
  const ids = Array.from({ length: MAX_IMPORT_ROWS + 2 }, (_, index) => String(index + 1));
  const { rows, wrong } = parseImport(ids.join('\n'), defaults);
  expect(rows).toHaveLength(MAX_IMPORT_ROWS);
  expect(wrong).toHaveLength(2);
});
