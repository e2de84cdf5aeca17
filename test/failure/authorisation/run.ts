import { setTimeout as wait } from 'node:timers/promises';
import { inParallel } from '#kit/resilience/parallel.ts';
import type { Ask } from './keys.ts';
import { titleOf, type Verdict, verdictOf } from './matrix.ts';

const OTHER_GUILD = '920000000000000000';
const AT_ONCE = 16;
const MAX_RETRIES = 20;
const BUSY_MS = 500;

/** A cell of the matrix with an unexpected result. */
export interface Mismatch {
  title: string;
  expected: Verdict;
  got: unknown;
}

interface Answer {
  status: number;
  details?: { code?: string; required_scope?: string; errors?: { path: string }[] };
}

/** Sends the request of every cell to the gateway (base URL with prefix); optionally stops at the first mismatch. */
export async function runMatrix(api: string, asks: readonly Ask[], { first = false } = {}): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  const stop = new AbortController();
  const judge = async (ask: Ask) => {
    const expected = verdictOf(ask.cell);
    let answer = await answerTo(api, ask);
    // A verification timeout on a busy machine says nothing about the key.
    for (let tries = 0; answer.status === 503 && tries < MAX_RETRIES; tries += 1) {
      await wait(BUSY_MS);
      answer = await answerTo(api, ask);
    }
    if (isRight(expected, answer)) return;
    mismatches.push({ title: titleOf(ask.cell), expected, got: answer });
    if (first) stop.abort();
  };
  await inParallel(asks, AT_ONCE, judge, stop.signal);
  return mismatches;
}

async function answerTo(api: string, { cell, guildId, headers, query }: Ask): Promise<Answer> {
  const { route } = cell;
  const guild = { own: guildId, other: OTHER_GUILD, none: undefined };
  const path = route.path.replace(':guildId', guild[cell.path] ?? '').replaceAll(/:[A-Za-z]+/g, '7');
  const body = guild[cell.body] === undefined ? {} : { guild_id: guild[cell.body] };
  const inQuery = guild[cell.query] === undefined ? '' : `guild_id=${guild[cell.query]}`;
  const target = [path, [query, inQuery].filter(Boolean).join('&')].filter(Boolean).join('?');
  const response = await fetch(api + target, {
    method: route.method,
    headers: {
      ...headers,
      ...(guild[cell.header] === undefined ? {} : { 'x-guild-id': guild[cell.header] }),
      ...(route.method === 'GET' ? {} : { 'content-type': 'application/json' }),
    },
    ...(route.method === 'GET' ? {} : { body: JSON.stringify(body) }),
  });
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return { status: response.status };
  }
  const { details } = (await response.json()) as Pick<Answer, 'details'>;
  return { status: response.status, ...(details && { details }) };
}

/** Errors that an admitted request can get, other than those of this matrix and of rate limits. */
function isRight(expected: Verdict, { status, details }: Answer): boolean {
  const paths = details?.errors?.map(({ path }) => path) ?? [];
  const isGuildFault = paths.includes('body.guild_id') || paths.includes('header.X-Guild-ID');
  if (expected.status === 'passes') return ![401, 403, 405, 429, 500].includes(status) && !isGuildFault;
  if (status !== expected.status) return false;
  if (expected.fault !== undefined && !paths.includes(expected.fault)) return false;
  if (expected.scope !== undefined && details?.required_scope !== expected.scope) return false;
  return expected.code === undefined || details?.code === expected.code;
}
