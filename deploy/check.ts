// `node deploy/check.ts GATEWAY_URL`: checks the responses of an installation to a client without a key; `helm test` runs it.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { makeApiKey } from '#kit/security/api-key.ts';

const PATIENCE_MS = 20_000;
const CALL_MS = 5_000;

type Call = { path: string; status: number; headers?: Record<string, string> };

/** Each request of the check, with its expected status. */
const CALLS: readonly Call[] = [
  { path: '/healthz', status: 200 },
  { path: '/openapi.json', status: 200 },
  // A well-formed key that does not exist: the gateway verifies it with auth, and auth with its database.
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

/** Returns true once the response has the expected status; prints the last status that differed. */
async function check(base: string, { path, status, headers = {} }: Call): Promise<boolean> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await pause(500)) {
    const found = await statusOf(base + path, headers);
    if (found === status || Date.now() > deadline) {
      console.log(`${path}: ${found}${found === status ? '' : `, expected ${status}`}`);
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
