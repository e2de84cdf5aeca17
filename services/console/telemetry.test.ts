import { createServer } from 'node:http';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { requestContext } from '#kit/context.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { type FinishedSpan, Span } from '#kit/telemetry/tracing/span.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { listening } from '#test/network/listening.ts';
import { ConsoleTelemetry } from './telemetry.ts';

const start = () => {
  const metrics = new Metrics();
  return { metrics, telemetry: new ConsoleTelemetry(metrics, pino({ level: 'silent' })) };
};

test.each(['streamEvents', 'getSession'])('the span of a request to %s ends with its response', async (route) => {
  const { telemetry, metrics } = start();
  const spans: FinishedSpan[] = [];
  const recorder = { record: (span: FinishedSpan) => void spans.push(span), recordUnsampledError: () => undefined };
  const ids = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: undefined, traceState: undefined };
  const span = new Span({ ids, requestId: undefined, recorder, kind: 'server', isSampled: true, isRoot: true });
  const { url, close } = await listening(
    createServer((request, response) =>
      requestContext.run({ requestId: 'r', route, span }, () => {
        telemetry.follow(request, response);
        response.end();
      }),
    ),
  );
  onTestFinished(close);
  await fetch(url);
  await expect.poll(() => spans).toMatchObject([{ name: `GET ${route}`, error: undefined }]);
  const durations = await metrics.registry.getSingleMetricAsString('http_request_duration_seconds');
  expect(durations.includes(`_count{route="${route}"`)).toBe(route !== 'streamEvents');
});

test('a counter of successes with the own status of each route exists before the first request', async () => {
  const { metrics } = start();
  const counters = await metrics.registry.getSingleMetricAsString('http_requests_total');
  const expected = ROUTES.map(({ name, method, status }) => `{route="${name}",method="${method}",code="${status}"} 0`);
  expect(expected.filter((series) => !counters.includes(series))).toEqual([]);
});
