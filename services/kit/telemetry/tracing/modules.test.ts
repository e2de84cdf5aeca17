import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Prints which modules of OpenTelemetry were loaded: first by all of the gateway and a service, then by a tracer. */
const PROGRAM = `
import { createRequire, registerHooks } from 'node:module';
const urls = new Set();
registerHooks({
  load(url, context, next) {
    urls.add(url);
    return next(url, context);
  },
});
const { cache } = createRequire(process.cwd() + '/package.json');
const loaded = () => {
  const names = [...urls, ...Object.keys(cache)].map((it) => /node_modules\\/(@opentelemetry\\/[^/]+)/.exec(it)?.[1]);
  return [...new Set(names)].filter((name) => name !== undefined);
};
await import('#kit/service/service.ts');
await import('#gateway/service.ts');
await import('#services/members/service.ts');
const off = loaded();
const { Tracer } = await import('#kit/telemetry/tracing/tracer.ts');
const { Metrics } = await import('#kit/telemetry/metrics.ts');
const config = {
  OTEL_EXPORTER_OTLP_HEADERS: {}, OTEL_RESOURCE_ATTRIBUTES: {}, TRACING_SAMPLE_RATIO: 1, OTEL_BSP_SCHEDULE_DELAY: 100,
};
const start = (endpoint) =>
  Tracer.from({ ...config, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, { service: 'x', metrics: new Metrics() })?.start();
await start(undefined);
const without = loaded();
await start('http://127.0.0.1:1');
console.log(JSON.stringify({ off, without, on: loaded() }));
process.exit(0);
`;

test("OpenTelemetry's SDK is loaded only if a collector is configured", async () => {
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
  const { off, without, on } = JSON.parse((await run).stdout) as Record<string, string[]>;
  // prom-client imports the API, which only has interfaces and does nothing without an SDK.
  expect(off).toEqual(['@opentelemetry/api']);
  expect(without).toEqual(off);
  expect(on).toContain('@opentelemetry/sdk-trace');
});
