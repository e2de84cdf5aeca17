import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeOfMachine, smoke } from './checks/runtimes.ts';
import { unpackClient } from './pack.ts';

let folder: string;
let script: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'client-package-'));
  unpackClient(folder);
  script = join(folder, 'smoke.mjs');
  copyFileSync(join(import.meta.dirname, 'checks/smoke.mjs'), script);
});
afterAll(() => rmSync(folder, { recursive: true }));

// On machines with Node 20 on the path this is the oldest version that is supported.
test.each([process.execPath, nodeOfMachine() ?? process.execPath])('the package works with %s', async (node) => {
  expect(await smoke([node, script])).toContain('requests, retry, error, events and webhook work on v');
});
