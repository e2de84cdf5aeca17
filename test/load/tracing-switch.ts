// Preloaded (`node --import`) into the gateway and the lookup service that `--only tracing` measures. It turns tracing on and
// off for new requests, about twice a second, and writes the CPU time and the number of requests with and without tracing to
// the file BENCH_TRACING_FILE. So both are measured in the same process, and at the same speed of the machine.
import { renameSync, writeFileSync } from 'node:fs';
import type { Span } from '#kit/telemetry/tracing/span.ts';
import { Tracer } from '#kit/telemetry/tracing/tracer.ts';

/** CPU and requests since the process started, either with tracing or without it. */
export interface StateTotals {
  /** Microseconds of CPU of the whole process, with all its threads. */
  cpu: number;
  requests: number;
}

export interface SwitchTotals {
  on: StateTotals;
  off: StateTotals;
}

/**
 * How long tracing stays on or off, in milliseconds: shorter than most disturbances by other programs, and long enough to send
 * spans. The time is random within these limits. With a fixed one, a job that a process runs every second would always run while
 * tracing is on, or always while it is off.
 */
const SLICE_MS = { min: 250, max: 750 };

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
  // Renamed, so that a reader never finds half of it.
  writeFileSync(`${file}.new`, JSON.stringify(totals));
  renameSync(`${file}.new`, file);
  started = process.cpuUsage();
}

const { ofClient, ofProcess } = Object.getOwnPropertyDescriptors(Tracer.prototype);
let timer: NodeJS.Timeout | undefined;

/** Turns tracing on if it is off, and off if it is on, after a random time, again and again. */
function switchLater(): NodeJS.Timeout {
  const ms = SLICE_MS.min + Math.random() * (SLICE_MS.max - SLICE_MS.min);
  return setTimeout(() => {
    switchTo(!isOn);
    timer = switchLater();
  }, ms).unref();
}

/** The gateway calls this for each request of a client. A timer turns tracing on and off; callers accept that there is no span. */
Tracer.prototype.ofClient = function (this: Tracer, ...headers) {
  timer ??= switchLater();
  requests++;
  return isOn ? (ofClient.value?.apply(this, headers) as Span) : (undefined as unknown as Span);
};

/** Services call this. Requests have the header traceparent only while the gateway's tracing is on. */
Tracer.prototype.ofProcess = function (this: Tracer, ...headers) {
  const hasTrace = headers[0] !== undefined;
  if (hasTrace !== isOn) switchTo(hasTrace);
  requests++;
  return ofProcess.value?.apply(this, headers);
};
