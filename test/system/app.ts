import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { inject, vi } from 'vitest';
import { claimName } from '#local/lock.ts';
import { writeApp } from '../../deploy/bundle/app.ts';
import { programFile } from '../../deploy/bundle/programs.ts';

/** How long to wait until esbuild has bundled the programs, in milliseconds: ten seconds of CPU, on a busy machine over a minute. */
const BUILD = { timeout: 300_000, interval: 50 };

/**
 * Returns the folder of the bundled programs, as in the image. The first test of a run that needs it writes it; tests in
 * other workers wait. A bundled program starts in a third of the CPU time that its source files take.
 */
export async function appFolder(): Promise<string> {
  const folder = inject('appFolder');
  if (existsSync(folder)) return folder;
  const claim = await claimName(`app-${basename(join(folder, '..'))}`);
  try {
    if (claim === undefined) {
      await vi.waitUntil(() => existsSync(folder), BUILD);
    } else if (!existsSync(folder)) {
      // A test that failed while it wrote the folder has left a part of it.
      rmSync(`${folder}.unfinished`, { recursive: true, force: true });
      await writeApp(`${folder}.unfinished`);
      renameSync(`${folder}.unfinished`, folder);
    }
  } finally {
    claim?.close();
  }
  return folder;
}

/** Returns the path of a bundled program; its name is in deploy/bundle/programs.ts. */
export async function bundledProgram(name: string): Promise<string> {
  return join(await appFolder(), programFile(name));
}
