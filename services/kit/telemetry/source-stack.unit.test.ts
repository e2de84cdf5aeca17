import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sourceStack } from './source-stack.ts';

test('only positions in the bundles are mapped, not those in other files with a source map', () => {
  const folder = mkdtempSync(join(tmpdir(), 'source-stack-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const map = { version: 3, sources: ['of-a-package.ts'], names: [], mappings: 'AAAA' };
  writeFileSync(join(folder, 'package.js.map'), JSON.stringify(map));
  const stack = `Error: x\n    at work (file://${folder}/package.js:1:1)`;
  expect(sourceStack(stack)).toBe(stack);
});
