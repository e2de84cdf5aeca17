import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

function start(environment: Record<string, string>) {
  return spawn(process.execPath, [main], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('as a program it prints one line of JSON when both platforms answer, and SIGTERM ends it with status 0', async () => {
  const program = start({ SIMULATOR_WORLD: '', CHAT_SIMULATOR_PORT: '0' });
  const [line] = (await once(program.stdout, 'data')) as [Buffer];
  const { chat, game } = JSON.parse(line.toString()) as { chat: string; game: string };
  for (const url of [chat, game]) {
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[0-9]+$/);
    expect((await call(`${url}/__world`)).status).toBe(200);
  }
  program.kill('SIGTERM');
  expect(await once(program, 'exit')).toEqual([0, null]);
});

test('an invalid world or port is reported in one line, and the exit status is 1', async () => {
  for (const [name, value] of [
    ['SIMULATOR_WORLD', '/nowhere/world.json'],
    ['GAME_SIMULATOR_PORT', '70000'],
  ] as const) {
    const program = start({ [name]: value });
    const [text] = (await once(program.stderr, 'data')) as [Buffer];
    expect(text.toString()).toMatch(/^.*(no such file|GAME_SIMULATOR_PORT).*\n$/);
    expect(await once(program, 'exit')).toEqual([1, null]);
  }
});

test('a port that is taken is an error, and nothing is left running', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const gamePort = (taken.address() as AddressInfo).port;
  await expect(startSimulators({ gamePort })).rejects.toThrow('EADDRINUSE');
  taken.close();
});

test('stopping cuts calls that are still waiting', async () => {
  const { chat, stop } = await startSimulators();
  await call(`${chat}/__faults`, { method: 'POST', body: { match: '', delay_ms: 60_000 } });
  const cut = call(`${chat}/api/v10/users/@me`).then(
    () => 'answered',
    (error: Error) => error.message,
  );
  await expect.poll(async () => (await call(`${chat}/__faults`)).body).toMatchObject({ faults: [{ used: 1 }] });
  await stop();
  expect(await cut).toBe('fetch failed');
});
