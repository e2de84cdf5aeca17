import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { sha256 } from '../oci/descriptor.ts';
import { download } from './download.ts';

const RIGHT = Buffer.from('the right bytes');

let server: Server;
let folder: string;
let requests: string[];
let base: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'download-'));
  server = createServer(({ url = '' }, response) => {
    requests.push(url);
    if (url === '/gone') response.writeHead(404).end();
    else if (url === '/endless') pipeline(Readable.from(endless()), response, () => {});
    else response.end(url === '/right' ? RIGHT : 'other bytes');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  requests = [];
});

function* endless(): Generator<string> {
  for (;;) yield 'x'.repeat(1000);
}

const wanted = (...paths: string[]) => ({
  name: 'sample 1',
  addresses: paths.map((path) => base + path),
  algorithm: 'sha256' as const,
  checksum: sha256(RIGHT),
  size: RIGHT.length,
});

test('the next address is used when a mirror has removed the file or has other bytes, and the cache after that', async () => {
  const cached = join(folder, 'a', 'file');
  const get = () => download(wanted('/gone', '/wrong', '/right'), cached);
  expect(await get()).toEqual(RIGHT);
  expect(requests).toEqual(['/gone', '/wrong', '/right']);
  expect(await get()).toEqual(RIGHT);
  expect(requests.length).toBe(3);
});

test('a damaged file in the cache is downloaded again', async () => {
  const cached = join(folder, 'damaged');
  writeFileSync(cached, 'the right byte');
  expect(await download(wanted('/right'), cached)).toEqual(RIGHT);
});

test('a file that is larger than the lock file says is not downloaded further', async () => {
  expect(await download(wanted('/endless', '/right'), join(folder, 'endless'))).toEqual(RIGHT);
  await expect(download(wanted('/endless'), join(folder, 'endless-only'))).rejects.toThrow(
    'endless: more than 15 bytes',
  );
});

test('other bytes than those of the checksum are never used, and the error names each address', async () => {
  const failing = download(wanted('/wrong', '/gone'), join(folder, 'never'));
  await expect(failing).rejects.toThrow(
    /could not download sample 1:\n\S+\/wrong has another checksum\n\S+\/gone: status 404$/,
  );
});
