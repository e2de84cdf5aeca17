import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs `work` with a temporary folder and deletes it afterwards. SIGINT, SIGTERM and SIGHUP abort the work gracefully. */
export async function inTemporaryFolder(work: (folder: string, signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stop.abort(new Error(`ended by ${name}`)));
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-bench-'));
  try {
    await Promise.race([work(folder, signal), stopped]);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
  process.exit();
}
