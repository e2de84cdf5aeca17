import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pathOf } from '#kit/files.ts';
import { internalKeysOf } from '#kit/security/process-keys.ts';
import { type RunningScript, runScript } from '#test/system/processes.ts';
import { THIS_RELEASE as PROCESSES, type Release } from '../failure/deployment.ts';

/** A release with the folder of its source files. */
export type ReleaseFiles = Release & { root: string };

export const THIS_RELEASE: ReleaseFiles = { ...PROCESSES, root: pathOf('.') };

/** Reads from the files of another release which processes it has and how they are started. */
export async function readRelease(root: string): Promise<ReleaseFiles> {
  const file = pathToFileURL(join(root, 'deploy/local/processes.ts')).href;
  const { DEPLOYABLES, environmentOf } = (await import(/* @vite-ignore */ file)) as {
    DEPLOYABLES: Release['deployables'];
    environmentOf: Release['environmentOf'];
  };
  const commandOf: Release['commandOf'] = async ({ main }) => [process.execPath, join(root, main)];
  return { root, deployables: DEPLOYABLES, environmentOf, commandOf };
}

/** The same release with the keys that this one derives, as an operator applies them before the upgrade. */
export function withOurKeys(release: ReleaseFiles): ReleaseFiles {
  const environmentOf: Release['environmentOf'] = (deployable, ports, shared, inherited) => ({
    ...release.environmentOf(deployable, ports, shared, inherited),
    INTERNAL_KEYS: internalKeysOf(deployable.name, shared.roots),
  });
  return { ...release, environmentOf };
}

/** Starts a program of a release, such as `deploy/migrate.ts`. */
export function startProgramOf(
  release: ReleaseFiles,
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): RunningScript {
  const [file = '', ...others] = words;
  return runScript([process.execPath, join(release.root, file), ...others], environment);
}

/** Applies the migrations of a release and gives the services' roles their rights, as its Job does; returns what it printed. */
export async function migrateWith(release: ReleaseFiles, environment: NodeJS.ProcessEnv): Promise<string> {
  const script = startProgramOf(release, ['deploy/migrate.ts'], environment);
  const status = await script.ended;
  if (status !== 0) throw new Error(`the migrations of ${release.root} failed: ${script.output()}`);
  return script.output();
}
