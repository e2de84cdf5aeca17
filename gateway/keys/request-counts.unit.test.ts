import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import type { ReportRequestsRequest } from '#proto/gen/guild/auth/v1/auth.ts';
import { OVERLOADS } from '../downstream/overload.ts';
import { GUILD, metric, silentLog, startPeer } from './fixtures/auth-peer.ts';
import { RequestCounts } from './request-counts.ts';

const OTHER = '900000000000000002';
const LOOKUP = { category: 'lookup' } as const;
const BINDINGS = { category: 'bindings_read' } as const;
const limited = new ApiError('RATE_LIMITED');

async function setUp(max?: number) {
  const { peer, clock, client, metrics } = await startPeer();
  const counts = new RequestCounts({
    client,
    clock,
    metrics,
    log: silentLog,
    reporter: 'gateway-1',
    ...(max !== undefined && { max }),
  });
  const grant = { guildId: GUILD };
  const minute = () => Math.floor(clock.now() / 60_000) * 60;
  return { peer, clock, metrics, counts, grant, minute };
}

/** What the auth service stores: each report once. */
function sumsOf(reports: readonly ReportRequestsRequest[]): { allowed: number; rejected: number } {
  const once = new Map(reports.map((report) => [report.sequence, report]));
  const all = [...once.values()].flatMap((report) => report.counts);
  return {
    allowed: all.reduce((sum, { allowed }) => sum + allowed, 0),
    rejected: all.reduce((sum, { rejected }) => sum + rejected, 0),
  };
}

test('requests are counted by guild, category and minute, and reported with increasing numbers', async () => {
  const { peer, clock, counts, grant, minute } = await setUp();
  counts.allowed(grant, LOOKUP);
  counts.allowed(grant, LOOKUP);
  counts.rejected(grant, LOOKUP, limited);
  counts.rejected(grant, BINDINGS, OVERLOADS.guild);
  counts.allowed({ guildId: OTHER }, LOOKUP);
  const first = minute();
  clock.advance(60_000);
  counts.allowed(grant, LOOKUP);
  await counts.send();
  counts.allowed(grant, BINDINGS);
  await counts.send();
  await counts.send();
  const count = { guildId: GUILD, category: 'lookup', minute: first, allowed: 0, rejected: 0 };
  expect(peer.reports).toEqual([
    {
      reporter: 'gateway-1',
      sequence: 1,
      counts: [
        { ...count, allowed: 2, rejected: 1 },
        { ...count, category: 'bindings_read', rejected: 1 },
        { ...count, guildId: OTHER, allowed: 1 },
        { ...count, minute: first + 60, allowed: 1 },
      ],
    },
    {
      reporter: 'gateway-1',
      sequence: 2,
      counts: [{ ...count, category: 'bindings_read', minute: first + 60, allowed: 1 }],
    },
  ]);
});

test('only rejections by a limit are counted, and no request of a route without a category', async () => {
  const { peer, counts, grant } = await setUp();
  for (const code of ['MISSING_SCOPE', 'GUILD_MISMATCH', 'IP_NOT_ALLOWED', 'UNAVAILABLE'] as const) {
    const rejection = new ApiError(code);
    expect(counts.rejected(grant, LOOKUP, rejection)).toBe(rejection);
  }
  counts.allowed(grant, { category: null });
  counts.rejected(grant, { category: null }, limited);
  await counts.send();
  expect(peer.reports).toEqual([]);
});

test('a report without a response is sent again unchanged, before the requests since then', async () => {
  const { peer, counts, grant } = await setUp();
  counts.allowed(grant, LOOKUP);
  peer.isFailing = true;
  await counts.send();
  counts.allowed(grant, LOOKUP);
  counts.rejected(grant, LOOKUP, limited);
  await counts.send();
  peer.isFailing = false;
  await counts.send();
  expect(peer.reports.map(({ sequence }) => sequence)).toEqual([1, 1, 1, 2]);
  expect(peer.reports.slice(0, 3).map((report) => sumsOf([report]))).toEqual(
    [1, 2, 3].map(() => ({ allowed: 1, rejected: 0 })),
  );
  expect(sumsOf(peer.reports)).toEqual({ allowed: 2, rejected: 1 });
});

test('requests that arrive while a report is on its way are in the next one', async () => {
  const { peer, counts, grant } = await setUp();
  for (let round = 0; round < 50; round++) {
    counts.allowed(grant, LOOKUP);
    const sending = counts.send();
    counts.allowed(grant, LOOKUP);
    await sending;
  }
  await counts.send();
  expect(sumsOf(peer.reports)).toEqual({ allowed: 100, rejected: 0 });
});

test('a report has at most 5,000 counts', async () => {
  const { peer, counts } = await setUp();
  for (let guild = 0; guild < 5_001; guild++)
    counts.allowed({ guildId: `${900000000000000000n + BigInt(guild)}` }, LOOKUP);
  await counts.send();
  expect(peer.reports.map((report) => report.counts.length)).toEqual([5_000, 1]);
});

test('above the maximum new counts are dropped and shown in a metric, and known ones continue', async () => {
  const { peer, counts, grant, metrics } = await setUp(1);
  counts.allowed(grant, LOOKUP);
  counts.allowed({ guildId: OTHER }, LOOKUP);
  counts.rejected({ guildId: OTHER }, LOOKUP, limited);
  counts.allowed(grant, LOOKUP);
  expect(await metric(metrics, 'gateway_request_counts_dropped_total')).toBe(2);
  expect(await metric(metrics, 'gateway_request_counts')).toBe(1);
  await counts.send();
  expect(sumsOf(peer.reports)).toEqual({ allowed: 2, rejected: 0 });
  expect(await metric(metrics, 'gateway_request_counts')).toBe(0);
});

test('counts are reported periodically, on drain, and on stop in spite of a lost response', async () => {
  const { peer, counts, grant } = await setUp();
  await counts.start();
  counts.allowed(grant, LOOKUP);
  await expect.poll(() => sumsOf(peer.reports), { timeout: 20_000 }).toEqual({ allowed: 1, rejected: 0 });
  counts.allowed(grant, LOOKUP);
  await counts.drain();
  expect(sumsOf(peer.reports).allowed).toBe(2);
  counts.allowed(grant, LOOKUP);
  const failing = peer.reports.push.bind(peer.reports);
  peer.isFailing = true;
  peer.reports.push = (...reports) => {
    const length = failing(...reports);
    // The second attempt to stop is confirmed.
    if (peer.reports.length >= 4) peer.isFailing = false;
    return length;
  };
  await counts.stop();
  expect(peer.reports.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 3]);
  expect(sumsOf(peer.reports).allowed).toBe(3);
});

test('a gateway that cannot report when it stops gives up after three attempts', async () => {
  let calls = 0;
  const client = {
    reportRequests: () => {
      calls++;
      return Promise.reject(new ApiError('UNAVAILABLE'));
    },
  };
  const parts = { clock: new ManualClock(), metrics: new Metrics(), log: silentLog, reporter: 'gateway-1' };
  const counts = new RequestCounts({ client, ...parts });
  counts.allowed({ guildId: GUILD }, LOOKUP);
  await counts.stop();
  expect(calls).toBe(3);
});

test('a report that the auth service rejects as invalid is dropped, and does not hold up the next ones', async () => {
  const received: number[] = [];
  const client = {
    reportRequests: async ({ sequence }: ReportRequestsRequest) => {
      received.push(sequence);
      if (sequence === 1) throw new ApiError('INVALID_REQUEST');
      return {};
    },
  };
  const metrics = new Metrics();
  const parts = { clock: new ManualClock(), metrics, log: silentLog, reporter: 'gateway-1' };
  const counts = new RequestCounts({ client, ...parts });
  counts.allowed({ guildId: GUILD }, LOOKUP);
  counts.rejected({ guildId: GUILD }, LOOKUP, limited);
  await counts.send();
  counts.allowed({ guildId: GUILD }, LOOKUP);
  await counts.send();
  expect(received).toEqual([1, 2]);
  expect(await metric(metrics, 'gateway_request_counts_dropped_total')).toBe(2);
});
