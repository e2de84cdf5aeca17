import { expect, test } from 'vitest';
import { describeError } from '#kit/security/redact.ts';
import { Highlights } from './logs.ts';

const ERROR = describeError(new Error('not done', { cause: new Error('timeout expired') }));
const LINE = JSON.stringify({ level: 'warn', service: 'activity', err: ERROR, msg: 'trying again' });

test.each([true, false])(
  'a warning is one line, without the stack that its log file has; in a terminal: %s',
  (isTerminal) => {
    const printed: string[] = [];
    const highlights = new Highlights('activity', (text) => printed.push(text), isTerminal);
    for (const text of ['{"level":"info","msg":"x"}\n', LINE.slice(0, 20), `${LINE.slice(20)}\n`])
      highlights.write(text);
    expect(printed).toHaveLength(1);
    expect(printed[0]).toContain('trying again');
    expect(printed[0]).toContain('not done: timeout expired');
    expect(printed[0]).not.toMatch(/\n|stack|logs\.unit\.test/);
  },
);

test('a line that is not JSON is shown unchanged', () => {
  const printed: string[] = [];
  new Highlights('x', (text) => printed.push(text), false).write('"level":"error" cut\n');
  expect(printed).toEqual(['"level":"error" cut']);
});
