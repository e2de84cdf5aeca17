import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePorts } from '#local/ports.ts';
import { obstacle } from './available.ts';
import { ARCHITECTURES, readDebianLock } from './lock.ts';

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'available-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A server that responds to every request with a status. */
async function startServer(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('nothing is in the way of a release if one of the servers responds, even with an error of the client', async () => {
  const addresses = [await startServer(502), await startServer(404)];
  expect(await obstacle([], { cache: emptyFolder(), addresses })).toBeUndefined();
});

test('servers that cannot be reached and missing programs are named', async () => {
  const [port = 0] = await freePorts(1);
  const addresses = [`http://127.0.0.1:${port}`, await startServer(503)];
  expect(await obstacle([], { cache: emptyFolder(), addresses })).toBe(`neither ${addresses.join(' nor ')} responds`);
  expect(await obstacle(['sh', 'no-such-program'])).toBe('there is no no-such-program on the path');
});

test('no server is needed if all packages of the lock file are in the cache', async () => {
  const cache = emptyFolder();
  const { packages } = readDebianLock();
  const all = ARCHITECTURES.flatMap((each) => packages[each]);
  for (const { sha256 } of all) writeFileSync(join(cache, `${sha256}.deb`), '');
  expect(await obstacle([], { cache, addresses: [] })).toBeUndefined();
  rmSync(join(cache, `${all[0]?.sha256}.deb`));
  expect(await obstacle([], { cache, addresses: [] })).toBeDefined();
});
