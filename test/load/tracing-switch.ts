// Loaded before a process of `--only tracing` (`node --import`). It switches traces off and on for new requests twice a
// second, and writes the CPU and the requests of both states to the file BENCH_TRACING_FILE. Only so are both
// states measured at the same speed of the machine, and by the same compiled code.
import { writeFileSync } from 'node:fs';
import type { Span } from '#kit/telemetry/tracing/span.ts';
import { Tracer } from '#kit/telemetry/tracing/tracer.ts';

/** The totals of one state since the start of the process. */
export interface StateTotals {
  /** Microseconds of CPU of the whole process, with all its threads. */
  cpu: number;
  requests: number;
}

export interface SwitchTotals {
  on: StateTotals;
  off: StateTotals;
}

/** Milliseconds in one state: shorter than most disturbances by other programs, and long enough that spans are sent in it. */
const SLICE_MS = 500;

const file = process.env['BENCH_TRACING_FILE'] ?? '';
const totals: SwitchTotals = { on: { cpu: 0, requests: 0 }, off: { cpu: 0, requests: 0 } };
let isOn = true;
let requests = 0;
let started = process.cpuUsage();

/** Adds what was used since the last switch to the state that ends. */
function switchTo(next: boolean): void {
  const { user, system } = process.cpuUsage(started);
  const state = totals[isOn ? 'on' : 'off'];
  state.cpu += user + system;
  state.requests += requests;
  isOn = next;
  requests = 0;
  writeFileSync(file, JSON.stringify(totals));
  started = process.cpuUsage();
}

const { ofClient, ofProcess } = Object.getOwnPropertyDescriptors(Tracer.prototype);
let timer: NodeJS.Timeout | undefined;

/** In the gateway, where traces begin: the state changes by the clock. Its callers handle a missing span. */
Tracer.prototype.ofClient = function (this: Tracer, ...headers) {
  timer ??= setInterval(() => switchTo(!isOn), SLICE_MS).unref();
  requests++;
  return isOn ? (ofClient.value?.apply(this, headers) as Span) : (undefined as unknown as Span);
};

/** In a service, which follows the gateway: requests of the other state come without traceparent. */
Tracer.prototype.ofProcess = function (this: Tracer, ...headers) {
  const hasTrace = headers[0] !== undefined;
  if (hasTrace !== isOn) switchTo(hasTrace);
  requests++;
  return ofProcess.value?.apply(this, headers);
};
