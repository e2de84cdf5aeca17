import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { requestContext } from '../../context.ts';
import { ApiError } from '../../errors.ts';
import { Metrics } from '../metrics.ts';
import { recordedSpan, traceHeaders, withoutTrace } from './current-span.ts';
import { httpError } from './http-span.ts';
import type { FinishedSpan } from './span.ts';
import { Tracer } from './tracer.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const SAMPLED = `00-${TRACE}-${SPAN}-01`;
const UNSAMPLED = `00-${TRACE}-${SPAN}-00`;
const REQUEST_ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
/** The trace ID that REQUEST_ID contains. */
const REQUEST_TRACE = '0f8fad5bd9cb469fa16570867728950e';
const REQUEST = () => ({ name: 'GET /x', attributes: { 'http.route': '/x' } });

/** A tracer whose spans are kept instead of exported. */
function tracerWith({ ratio = 0, callerSamples = 0 } = {}) {
  const spans: FinishedSpan[] = [];
  const metrics = new Metrics();
  class Kept extends Tracer {
    override record(span: FinishedSpan): void {
      spans.push(span);
    }
  }
  const tracer = new Kept(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_EXPORTER_OTLP_HEADERS: {},
      OTEL_RESOURCE_ATTRIBUTES: {},
      TRACING_SAMPLE_RATIO: ratio,
      TRACING_CALLER_SAMPLES_PER_SECOND: callerSamples,
      OTEL_BSP_SCHEDULE_DELAY: 100,
    },
    { service: 'sample', metrics, log: pino({ level: 'silent' }) },
  );
  return { tracer, spans, metrics };
}

test('without an endpoint there is no tracer', () => {
  const config = {
    OTEL_EXPORTER_OTLP_HEADERS: {},
    OTEL_RESOURCE_ATTRIBUTES: {},
    TRACING_SAMPLE_RATIO: 1,
    TRACING_CALLER_SAMPLES_PER_SECOND: 1,
    OTEL_BSP_SCHEDULE_DELAY: 100,
  };
  const options = { service: 'sample', metrics: new Metrics(), log: pino({ level: 'silent' }) };
  expect(Tracer.from(config, options)).toBeUndefined();
});

test('the trace of a client is continued, but its sampling decision is not obeyed', () => {
  const { tracer, spans } = tracerWith();
  const span = tracer.ofClient('request', SAMPLED, 'vendor=1');
  expect([span.traceId, span.isSampled, span.traceState]).toEqual([TRACE, false, 'vendor=1']);
  expect(span.traceparent).toMatch(new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-00$`));
  span.end(undefined, REQUEST);
  expect(spans).toEqual([]);
  expect(tracerWith({ ratio: 1 }).tracer.ofClient('request', UNSAMPLED, undefined).isSampled).toBe(true);
});

test.each([0, 1])('without a trace of the client the request ID is the trace ID, at a ratio of %d', (ratio) => {
  const { tracer } = tracerWith({ ratio });
  const span = tracer.ofClient(REQUEST_ID, undefined, undefined);
  expect([span.traceId, span.traceState]).toEqual([REQUEST_TRACE, undefined]);
  expect(span.traceparent).toMatch(new RegExp(`^00-${REQUEST_TRACE}-[0-9a-f]{16}-0${ratio}$`));
  expect(span.traceparent).toBe(span.traceparent);
  expect(span.followsFromRequestId).toBe(ratio === 0);
});

test('the service of a forwarded request without trace headers finds its trace by the request ID, and does not record it', () => {
  const { tracer, spans } = tracerWith({ ratio: 1 });
  const span = tracer.ofForwarded(REQUEST_ID, undefined, undefined);
  expect([span?.traceId, span?.isSampled]).toEqual([REQUEST_TRACE, false]);
  span?.end('INTERNAL', REQUEST);
  expect(spans).toEqual([]);
  expect(tracer.ofForwarded(REQUEST_ID, SAMPLED, undefined)?.traceId).toBe(TRACE);
});

test.each(['my-request', REQUEST_ID.toUpperCase(), REQUEST_ID.replaceAll(/[^-]/g, '0'), `${REQUEST_ID}0`])(
  'a trace ID does not follow from the request ID %s that a client chose',
  (requestId) => {
    const { tracer } = tracerWith();
    const span = tracer.ofClient(requestId, undefined, undefined);
    expect(span.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(span.traceId).not.toBe(tracer.ofClient(requestId, undefined, undefined).traceId);
    expect(span.followsFromRequestId).toBe(false);
    expect(tracer.ofForwarded(requestId, undefined, undefined)).toBeUndefined();
  },
);

test('the share of sampled traces does not depend on the trace ID, which a client may choose', () => {
  const { tracer } = tracerWith({ ratio: 0.25 });
  const sampled = Array.from({ length: 4_000 }, () => tracer.ofClient('request', SAMPLED, undefined)).filter(
    (it) => it.isSampled,
  );
  expect(sampled.length).toBeGreaterThan(800);
  expect(sampled.length).toBeLessThan(1_200);
});

test('a few traces per second that clients sample are sampled too, however many there are', () => {
  const { tracer } = tracerWith({ callerSamples: 3 });
  const sampled = Array.from({ length: 100 }, () => tracer.ofClient('request', SAMPLED, undefined)).filter(
    (it) => it.isSampled,
  );
  expect(sampled).toHaveLength(3);
  expect(tracerWith({ callerSamples: 3 }).tracer.ofClient('request', UNSAMPLED, undefined).isSampled).toBe(false);
});

test('the decision of another process of ours is obeyed', () => {
  const { tracer, spans } = tracerWith();
  const span = tracer.ofCall(SAMPLED, undefined);
  expect(span?.isSampled).toBe(true);
  span?.end(undefined, REQUEST);
  expect(spans).toEqual([
    {
      ...REQUEST(),
      traceId: TRACE,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: SPAN,
      traceState: undefined,
      kind: 'server',
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
      error: undefined,
    },
  ]);
  expect(tracerWith({ ratio: 1 }).tracer.ofCall(UNSAMPLED, undefined)?.traceparent).toBe(UNSAMPLED);
});

test('a call of a process without a trace, such as a poll in the background, starts none', () => {
  const { tracer } = tracerWith({ ratio: 1 });
  expect(tracer.ofCall(undefined, undefined)).toBeUndefined();
  expect(tracer.ofCall('malformed', undefined)).toBeUndefined();
});

test('an error in a trace that is not sampled exports the first span of the trace, and no other', () => {
  const { tracer, spans } = tracerWith();
  const root = tracer.ofClient('request', UNSAMPLED, undefined);
  tracer.ofCall(root.traceparent, undefined)?.end('INTERNAL', REQUEST);
  expect(spans).toEqual([]);
  root.end('INTERNAL', REQUEST);
  expect(spans).toMatchObject([{ traceId: TRACE, parentSpanId: SPAN, error: 'INTERNAL' }]);
});

test('in an outage only 20 such errors per second are exported, and the others are counted', async () => {
  const { tracer, spans, metrics } = tracerWith();
  for (let request = 0; request < 100; request++)
    tracer.ofClient('request', undefined, undefined).end('UNAVAILABLE', REQUEST);
  expect(spans).toHaveLength(20);
  expect(await metrics.text()).toContain('tracing_spans_total{result="rate_limited"} 80');
});

test('calls of a recorded request are spans below it, with the code of their error', async () => {
  const { tracer, spans } = tracerWith({ ratio: 1 });
  const root = tracer.ofClient('request', undefined, undefined);
  const description = { name: 'SELECT x', attributes: {} };
  const context = { requestId: 'request', route: 'x', span: root };
  await requestContext.run(context, async () => {
    const headers = await recordedSpan()?.call(description, async (call) => traceHeaders(call));
    expect(headers).toEqual([['traceparent', `00-${root.traceId}-${spans[0]?.spanId}-01`]]);
    const failing = recordedSpan()?.call(description, () => Promise.reject(new ApiError('TIMEOUT')));
    await expect(failing).rejects.toThrow(ApiError);
    const rejecting = recordedSpan()?.call(description, () => Promise.reject(new ApiError('NOT_FOUND')));
    await expect(rejecting).rejects.toThrow(ApiError);
    const isExpected = (error: unknown) => error instanceof RangeError;
    const expected = recordedSpan()?.call(description, () => Promise.reject(new RangeError()), { isExpected });
    await expect(expected).rejects.toThrow(RangeError);
    await recordedSpan()?.call(description, async () => 503, { failureIn: (status) => httpError(status) });
    const unexpected = recordedSpan()?.call(description, () =>
      Promise.reject(new TypeError('user 920000000000000001')),
    );
    await expect(unexpected).rejects.toThrow(TypeError);
  });
  root.end(undefined, REQUEST);
  expect(spans.map(({ name, error }) => [name, error])).toEqual([
    ['SELECT x', undefined],
    ['SELECT x', 'TIMEOUT'],
    ['SELECT x', undefined],
    ['SELECT x', undefined],
    ['SELECT x', '503'],
    ['SELECT x', 'TypeError'],
    ['GET /x', undefined],
  ]);
  const [first, last] = [spans[0], spans.at(-1)];
  expect([first?.parentSpanId, last?.parentSpanId]).toEqual([last?.spanId, undefined]);
});

test('a span starts at the time of its start, also after the clock of the machine was corrected', () => {
  const { tracer, spans } = tracerWith({ ratio: 1 });
  vi.setSystemTime(Date.now() + 3_600_000);
  onTestFinished(() => void vi.useRealTimers());
  const before = Date.now();
  tracer.ofClient('request', undefined, undefined).end(undefined, REQUEST);
  const [span] = spans;
  expect(span?.startedAt).toBeGreaterThanOrEqual(before);
  expect(span?.endedAt).toBeGreaterThanOrEqual(span?.startedAt ?? 0);
});

test('work that continues after the end of a request neither adds spans nor passes the trace on', () => {
  const { tracer } = tracerWith({ ratio: 1 });
  const span = tracer.ofClient('request', undefined, undefined);
  requestContext.run({ requestId: 'request', route: 'x', span }, () => {
    expect(recordedSpan()).toBe(span);
    expect(traceHeaders()).toHaveLength(1);
    span.end(undefined, REQUEST);
    expect(recordedSpan()).toBeUndefined();
    expect(traceHeaders()).toEqual([]);
  });
});

test('work for other requests keeps the request ID, but neither adds spans nor passes the trace on', () => {
  const { tracer } = tracerWith({ ratio: 1 });
  const span = tracer.ofClient('request', undefined, undefined);
  requestContext.run({ requestId: 'request', route: 'x', span }, () => {
    withoutTrace(() => {
      expect(recordedSpan()).toBeUndefined();
      expect(traceHeaders()).toEqual([]);
      expect(requestContext.getStore()?.requestId).toBe('request');
    });
    expect(recordedSpan()).toBe(span);
  });
});
