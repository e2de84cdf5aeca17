import { expect, test } from 'vitest';
import { bundleApp } from './build.ts';

const MAX_SCRIPT_BYTES = 100 * 1024;

test('the scripts of the app are below 100 KB compressed', async () => {
  const scripts = (await bundleApp()).filter(({ path }) => path.endsWith('.js'));
  const bytes = scripts.reduce((sum, { compressed }) => sum + compressed.length, 0);
  expect(scripts.length).toBe(2);
  expect(bytes).toBeLessThan(MAX_SCRIPT_BYTES);
});

test('the app has no schema library in its script', async () => {
  const [script] = (await bundleApp()).filter(({ path }) => path.includes('/main-'));
  expect(script?.content.toString()).not.toContain('ZodError');
});

test('the app names no other host', async () => {
  const texts = (await bundleApp()).map(({ content }) => content.toString()).join('\n');
  const hosts = [...texts.matchAll(/https?:\/\/([a-z0-9][a-z0-9.-]*)/g)].map(([, host]) => host);
  // No addresses that a browser loads: the namespace of SVG, a link in an error message of the router, and examples.
  const harmless = (host = '') => ['www.w3.org', 'github.com'].includes(host) || host.endsWith('example.com');
  expect([...new Set(hosts)].filter((host) => !harmless(host))).toEqual([]);
});

test('the same sources give the same files', async () => {
  const paths = async () => (await bundleApp()).map(({ path }) => path);
  expect(await paths()).toEqual(await paths());
});
