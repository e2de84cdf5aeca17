import { afterEach, expect, test } from 'vitest';
import { clientOf, fail, manualRuntime, type ScriptedServer, startScriptedServer, succeed } from '../fixture.ts';

// The beginning of a minute, so that the window is as long as it can be.
const START = Math.floor(Date.now() / 60_000) * 60_000;

let server: ScriptedServer;
afterEach(() => server.stop());

/** The headers of a response after which the window has this number of requests left. */
const left = (remaining: number) => ({
  'x-ratelimit-limit': '60',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(START / 1_000 + 60),
  date: new Date(START).toUTCString(),
});

test('a call waits for the next window if the last response left no request, and other categories do not', async () => {
  server = await startScriptedServer([succeed({}, left(0))]);
  const runtime = manualRuntime(START);
  const guild = clientOf(server, { runtime, totalTimeoutMs: 120_000 });
  await guild.getLinkByGameId({ gameId: 7 });
  await guild.listBindings();
  expect(runtime.waits).toEqual([]);
  await guild.getLinkByGameId({ gameId: 7 });
  // Half of 250 ms in addition, so that not all clients send at the same moment.
  expect(runtime.waits).toEqual([60_125]);
});

test('a call whose wait would exceed its total time is sent, and the API decides', async () => {
  server = await startScriptedServer([
    succeed({}, left(0)),
    fail(429, 'RATE_LIMITED', { 'retry-after': '60', ...left(0) }),
  ]);
  const runtime = manualRuntime(START);
  const guild = clientOf(server, { runtime, totalTimeoutMs: 10_000 });
  await guild.getLinkByGameId({ gameId: 7 });
  await expect(guild.getLinkByGameId({ gameId: 7 })).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfter: 60 });
  expect([server.received.length, runtime.waits]).toEqual([2, []]);
});

test('a signal ends the wait for a window', async () => {
  server = await startScriptedServer([succeed({}, left(0))]);
  const guild = clientOf(server, { runtime: { now: () => START }, totalTimeoutMs: 120_000 });
  await guild.getLinkByGameId({ gameId: 7 });
  const call = guild.getLinkByGameId({ gameId: 7 }, { signal: AbortSignal.timeout(50) });
  await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(server.received).toHaveLength(1);
});
