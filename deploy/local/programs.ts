import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { programFile } from '../bundle/programs.ts';
import type { Settings } from './settings.ts';

/**
 * Prepares our programs before a system runs them. Returns a function that gives the main file of a program, from its name
 * and its source.
 */
export type Programs = (settings: Settings) => Promise<(name: string, main: string) => string>;

/** Programs that run from their source files; `build` prepares what is not source. */
export const sourcePrograms =
  (repository: string, build?: () => Promise<unknown>): Programs =>
  async () => {
    await build?.();
    return (_name, main) => join(repository, main);
  };

/** The bundled programs, as in the image: they start in a third of the CPU time. */
export const bundledPrograms: Programs = async ({ dataFolder, appFolder }) => {
  const folder = appFolder ?? (await writtenApp(join(dataFolder, 'app')));
  return (name) => join(folder, programFile(name));
};

async function writtenApp(folder: string): Promise<string> {
  // Imported here, because the bundler is only needed while the system starts.
  const { writeApp } = await import('../bundle/app.ts');
  rmSync(folder, { recursive: true, force: true });
  await writeApp(folder);
  return folder;
}
