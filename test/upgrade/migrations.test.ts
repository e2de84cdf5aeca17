import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { allMigrations } from '../../deploy/all-migrations.ts';
import { isShallowWithout, sqlFilesOf } from './checkout.ts';
import { PREVIOUS_RELEASE } from './previous-release.ts';

const isShallow = isShallowWithout(PREVIOUS_RELEASE);
if (isShallow) {
  console.log(
    `NOT CHECKED: the migrations of the previous release, because this clone does not contain ${PREVIOUS_RELEASE}: ` +
      'fetch the history (git fetch --unshallow --tags)',
  );
}

test.skipIf(isShallow).each(allMigrations())(
  'the migrations of $service that the previous release applied are unchanged, and new ones follow',
  ({ directory }) => {
    const applied = sqlFilesOf(PREVIOUS_RELEASE, relative(pathOf('.'), directory));
    const names = readdirSync(directory).filter((name) => name.endsWith('.sql'));
    expect(names.toSorted().slice(0, applied.size)).toEqual([...applied.keys()]);
    for (const [name, text] of applied) {
      expect([name, readFileSync(join(directory, name), 'utf8')]).toEqual([name, text]);
    }
  },
);
