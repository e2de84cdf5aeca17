// Preloaded (`node --import`) into the gateway and the lookup service that `--only tracing` measures. It turns tracing on and
// off for new requests at given times, and writes the CPU time and the number of requests with and without tracing to
// the file BENCH_TRACING_FILE. So both are measured in the same process, and at the same speed of the machine.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
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

const file = process.env['BENCH_TRACING_FILE'] ?? '';
/** When tracing is turned off, on, off and so on, in Unix milliseconds: the same times for both processes. */
const switches = JSON.parse(readFileSync(process.env['BENCH_TRACING_SWITCHES'] ?? '', 'utf8')) as number[];
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

/** Turns tracing off or on at the next of the times, again and again. */
function switchLater(): void {
  const next = switches.shift();
  if (next === undefined) return;
  setTimeout(() => {
    switchTo(!isOn);
    switchLater();
  }, next - Date.now()).unref();
}
switchLater();

const { ofClient, ofForwarded } = Object.getOwnPropertyDescriptors(Tracer.prototype);

/** The gateway calls this for each request of a client; callers accept that there is no span. */
Tracer.prototype.ofClient = function (this: Tracer, ...request) {
  requests++;
  return isOn ? (ofClient.value?.apply(this, request) as Span) : (undefined as unknown as Span);
};

/** Services call this for each request that the gateway forwards. */
Tracer.prototype.ofForwarded = function (this: Tracer, ...request) {
  requests++;
  return isOn ? ofForwarded.value?.apply(this, request) : undefined;
};
