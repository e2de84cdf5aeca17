import { expect, test } from 'vitest';
import { COMMAND_FILES } from './commands.ts';

test('each file defines the commands that the help lists, in the same order', async () => {
  for (const { summaries, load } of COMMAND_FILES) {
    expect((await load()).map(({ name }) => name)).toEqual(Object.keys(summaries));
  }
});
