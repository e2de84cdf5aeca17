import { pathOf, ROOT } from '#kit/files.ts';
import { FIGURE } from '../measure/figures.ts';
import { run } from './kubectl.ts';
import { notChecked } from './not-checked.ts';

const VITEST = pathOf('node_modules/vitest/vitest.mjs');
/** The beginning of the line that says why nothing was tested. */
const NOT_CHECKED = 'NOT CHECKED: ';

/**
 * Runs the tests of `npm run test:restore` and returns their figures: backups of a loaded system are restored on other
 * servers, and the data compared. Throws the output of a run that fails.
 */
export async function restoreDrill(): Promise<string[]> {
  const output = await run(process.execPath, [VITEST, 'run', '--root', ROOT, '--project', 'restore']);
  const lines = output.split('\n').filter((line) => line.startsWith(FIGURE) || line.startsWith(NOT_CHECKED));
  if (lines.length === 0) throw new Error(`the restore drill measured nothing: ${output}`);
  // The summary repeats the figures of the tests.
  return [...new Set(lines)].map((line) =>
    line.startsWith(FIGURE) ? line.slice(FIGURE.length) : notChecked(line.slice(NOT_CHECKED.length)),
  );
}
