// `node deploy/check.ts GATEWAY_URL`: whether an installation answers as it should to who has no key; what `helm test` runs.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { makeApiKey } from '#kit/security/api-key.ts';

const PATIENCE_MS = 20_000;
const CALL_MS = 5_000;

type Call = { path: string; status: number; headers?: Record<string, string> };

/** Each call of the check, and the status that it must have. */
const CALLS: readonly Call[] = [
  { path: '/healthz', status: 200 },
  { path: '/openapi.json', status: 200 },
  // A key that nobody was given: the gateway asks auth about it, and auth its database.
  { path: '/api/v1/whoami', status: 401, headers: { 'x-api-key': makeApiKey('900000000000000001', randomBytes) } },
];

async function statusOf(url: string, headers: Record<string, string>): Promise<number | string> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(CALL_MS) });
    await response.arrayBuffer();
    return response.status;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** True once the call has its status; what it had last is told. */
async function check(base: string, { path, status, headers = {} }: Call): Promise<boolean> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await pause(500)) {
    const found = await statusOf(base + path, headers);
    if (found === status || Date.now() > deadline) {
      console.log(`${path}: ${found}${found === status ? '' : `, should be ${status}`}`);
      return found === status;
    }
  }
}

const base = process.argv[2]?.replace(/\/+$/, '');
if (!base || !URL.canParse(base)) {
  console.error('use: node deploy/check.ts http://HOST:PORT');
  process.exitCode = 2;
} else {
  process.once('SIGTERM', () => process.exit(143));
  const results = [];
  for (const call of CALLS) results.push(await check(base, call));
  process.exitCode = results.every(Boolean) ? 0 : 1;
}
