import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { runScript } from './system/processes.ts';

const repository = join(import.meta.dirname, '..');
let folder: string;

/** A folder inside the repository, so that the files can import its packages. */
beforeEach(() => {
  folder = mkdtempSync(join(repository, 'node_modules', '.reporter-'));
  return () => rmSync(folder, { recursive: true });
});

/** Runs vitest on test files given by name; returns its exit status and what it printed. */
async function run(
  files: Record<string, string>,
  setup?: string,
): Promise<{ status: unknown; last: string | undefined; output: string }> {
  const config = {
    root: folder,
    test: {
      include: ['*.case.mjs'],
      reporters: ['default', join(repository, 'test', 'reporter.ts')],
      ...(setup === undefined ? {} : { globalSetup: './setup.mjs' }),
    },
  };
  writeFileSync(join(folder, 'vitest.config.mjs'), `export default ${JSON.stringify(config)}`);
  if (setup !== undefined) writeFileSync(join(folder, 'setup.mjs'), setup);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), `import { beforeAll, describe, expect, test } from 'vitest';\n${text}`);
  }
  const vitest = join(repository, 'node_modules', 'vitest', 'vitest.mjs');
  // One pipe for both outputs, as in a terminal or a log: two would be read in any order.
  const command = ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', process.execPath, vitest, 'run', '--root', folder] as const;
  const script = runScript(command, { VITEST: '', CI: 'true' });
  const status = await script.ended;
  const output = script.output();
  return { status, last: output.trimEnd().split('\n').at(-1), output };
}

const PASSING = "test('a', () => {}); test.skip('b', () => {});";

test('the last line has the number of passed, failed and skipped tests', async () => {
  expect(await run({ 'a.case.mjs': "test('a', () => {});" })).toMatchObject({ status: 0, last: '1 passed, 0 failed' });
  const mixed = { 'a.case.mjs': PASSING, 'b.case.mjs': "test('c', () => expect(1).toBe(2));" };
  expect(await run(mixed)).toMatchObject({ status: 1, last: '1 passed, 1 failed, 1 skipped' });
});

test.each([
  ['a file that cannot be loaded', "import './missing.mjs';", '1 passed, 1 failed, 1 skipped'],
  [
    'a hook that throws',
    "beforeAll(() => { throw new Error('no'); }); test('c', () => {});",
    '1 passed, 1 failed, 2 skipped',
  ],
  [
    'an uncaught error',
    "test('c', () => { void Promise.reject(new Error('lost')); });",
    '2 passed, 1 failed, 1 skipped',
  ],
  [
    'a process that is killed',
    "test('c', () => { process.kill(process.pid, 'SIGKILL'); });",
    // The process is killed before or after the start of its test was reported.
    '1 passed, [12] failed, 1 skipped',
  ],
])('%s counts as failed', async (_name, text, last) => {
  expect(await run({ 'a.case.mjs': PASSING, 'b.case.mjs': text })).toMatchObject({
    status: 1,
    last: expect.stringMatching(new RegExp(`^${last}$`)),
  });
});

test('a setup that fails counts as failed', async () => {
  const setup = "export default () => { throw new Error('no server'); }";
  expect(await run({ 'a.case.mjs': PASSING }, setup)).toMatchObject({ status: 1, last: '0 passed, 1 failed' });
});

test('a run without tests counts as failed', async () => {
  expect(await run({})).toMatchObject({ status: 1, last: '0 passed, 1 failed' });
});

test('measured figures are listed again before the last line', async () => {
  const text = "test('a', () => { console.log('figure: how long: 3 ms'); console.log('other'); });";
  const { last, output } = await run({ 'a.case.mjs': text });
  expect(last).toBe('1 passed, 0 failed');
  expect(output.trimEnd()).toMatch(/\n\nfigure: how long: 3 ms\n\n1 passed, 0 failed$/);
});

test('a thrown value without a message is counted and listed', async () => {
  const text = `
    beforeAll(() => { throw { code: 'hook' }; });
    test('a', () => { throw { code: 'test' }; });
  `;
  const other = "test('b', () => { void Promise.reject({ code: 'lost' }); throw null; });";
  const { last, output } = await run({ 'a.case.mjs': text, 'b.case.mjs': other });
  expect(last).toBe('0 passed, 3 failed, 1 skipped');
  expect(output.match(/^failed: .*/gm)).toEqual([
    'failed: a.case.mjs: no reason was given',
    'failed: b.case.mjs > b: null',
    'failed: outside the tests: no reason was given',
  ]);
});

test('failures are listed with their reasons before the last line', async () => {
  const text = `
    test('a', () => { console.log('figure: how long: 3 ms'); });
    describe('all', () => { test('b', () => expect(1, 'one is not two').toBe(2)); });
    describe('none', () => { beforeAll(() => { throw new Error('no hook'); }); test('c', () => {}); });
  `;
  const { last, output } = await run({ 'a.case.mjs': text });
  expect(last).toBe('1 passed, 2 failed, 1 skipped');
  expect(output.trimEnd().split('\n').slice(-6)).toEqual([
    'figure: how long: 3 ms',
    '',
    'failed: a.case.mjs > none: no hook',
    'failed: a.case.mjs > all > b: one is not two: expected 1 to be 2 // Object.is equality',
    '',
    last,
  ]);
});
