import { relative } from 'node:path';
import { beforeEach } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { EXCLUDED } from './excluded.ts';

// Skips the tests that cannot pass on a cluster.
beforeEach(({ task, skip }) => {
  const exclusion = EXCLUDED[relative(pathOf('.'), task.file.filepath)];
  if (exclusion?.tests?.test(task.fullTestName)) skip(exclusion.reason);
});
