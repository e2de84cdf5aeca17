import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { ensureSecret, writePrivately } from './files.ts';
import { lockFolder } from './lock.ts';
import { Highlights, LogFile } from './logs.ts';
import { freePorts, isPortFree } from './ports.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-files-'));
  return () => rmSync(folder, { recursive: true });
});

test('a secret is generated once, and its file is made private again if its mode was changed', () => {
  const file = join(folder, 'secret');
  const secret = ensureSecret(file);
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  chmodSync(file, 0o644);
  expect(ensureSecret(file)).toBe(secret);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a private file is replaced atomically and no temporary file remains', () => {
  const file = join(folder, 'up.json');
  writePrivately(file, 'one');
  writePrivately(file, 'two');
  expect(readFileSync(file, 'utf8')).toBe('two');
  expect(readdirSync(folder)).toEqual(['up.json']);
  expect(() => writePrivately(join(folder, 'missing', 'file'), '')).toThrow('ENOENT');
});

test('a log file stays below its limit with one older file, and its last lines can be read', () => {
  const log = new LogFile(join(folder, 'a.log'), 100);
  for (let line = 0; line < 50; line += 1) log.write(`line ${line}\n`);
  expect(readdirSync(folder)).toEqual(['a.log', 'a.log.1']);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(100);
  expect(log.lastLines(2)).toBe('line 48\nline 49');
  expect(statSync(log.path).mode & 0o777).toBe(0o600);
});

test('warnings and errors are shown, even if a line arrives in parts', () => {
  const shown: string[] = [];
  const highlights = new Highlights('lookup', (text) => shown.push(text), false);
  highlights.write('{"level":30,"msg":"quiet"}\n{"lev');
  highlights.write('el":40,"msg":"loud"}\n{"level":"error","msg":"worse"}\nno JSON\n');
  expect(shown).toEqual(['{"level":40,"msg":"loud"}', '{"level":"error","msg":"worse"}']);
  const terminal = new Highlights('lookup', (text) => shown.push(text), true);
  terminal.write('{"level":50,"time":0,"msg":"readable"}\n');
  expect(shown.at(-1)).toMatch(/^lookup: .*readable/);
});

test('a folder can only be locked once', async () => {
  expect(await lockFolder(folder)).toBe(true);
  expect(await lockFolder(folder)).toBe(false);
});

test('free ports are distinct, free, and below the range of outgoing connections', async () => {
  const ports = (await Promise.all([freePorts(20), freePorts(20)])).flat();
  expect(new Set(ports).size).toBe(40);
  for (const port of ports) expect(port).toBeLessThan(32_768);
  const server = createServer().listen(ports[0], '127.0.0.1');
  await once(server, 'listening');
  expect(await isPortFree(ports[0] ?? 0)).toBe(false);
  server.close();
  await once(server, 'close');
  expect(await isPortFree(ports[0] ?? 0)).toBe(true);
});
