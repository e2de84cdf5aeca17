import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { requestContext } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { OVERLOADS } from '../downstream/overload.ts';
import { KeyActivity } from '../keys/key-activity.ts';
import { GatewayTelemetry } from './telemetry.ts';

/** The lines that a request writes; one without `rejection` succeeds. */
async function linesOf(
  rejection: ApiError | undefined,
  { requestId = '4e0d-a.b_c', level = 'info', accessLogRatio = 0 } = {},
) {
  const lines: string[] = [];
  const log = await createLog({ service: 'gateway', level, destination: { write: (line) => void lines.push(line) } });
  const telemetry = new GatewayTelemetry({
    metrics: new Metrics(),
    log,
    activity: new KeyActivity(systemClock),
    accessLogRatio,
  });
  const context = { requestId, route: 'lookup.game' };
  const outcome = { route: undefined, started: performance.now(), upstreamMs: 0, rejection };
  const request = { method: 'GET', complete: true } as IncomingMessage;
  const response = { headersSent: true, writableEnded: true, statusCode: 200 } as ServerResponse;
  requestContext.run(context, () => telemetry.responded(request, response, context, outcome));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a rejected request is logged with its ID, route, method, status, duration and error code', async () => {
  expect(await linesOf(new ApiError('INVALID_API_KEY'))).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
      service: 'gateway',
      request_id: '4e0d-a.b_c',
      route: 'lookup.game',
      method: 'GET',
      code: 401,
      ms: expect.any(Number),
      rejection: 'INVALID_API_KEY',
      msg: 'request rejected',
    },
  ]);
});

test('an API key that was sent as the request ID is redacted', async () => {
  const requestId = `service_200000000000000001_${'Ab1'.repeat(12)}Zz`;
  const [line] = await linesOf(new ApiError('INVALID_API_KEY'), { requestId });
  expect(line?.['request_id']).toBe('service_200000000000000001_Ab1Ab1***');
});

test('rejections are not logged at a higher log level', async () => {
  expect(await linesOf(new ApiError('INVALID_API_KEY'), { level: 'warn' })).toEqual([]);
});

test('a server error is logged as an error, and an overload rejection as a warning without the request', async () => {
  expect(await linesOf(new ApiError('INTERNAL'))).toMatchObject([{ level: 'error', code: 500, msg: 'request failed' }]);
  expect(await linesOf(OVERLOADS.in_flight)).toMatchObject([{ level: 'warn', rejected: 1, bound: 'in_flight' }]);
});

test('a request whose client disconnected is counted as 499, and is not timed', async () => {
  const metrics = new Metrics();
  const log = await createLog({ service: 'gateway', level: 'silent' });
  const telemetry = new GatewayTelemetry({ metrics, log, activity: new KeyActivity(systemClock), accessLogRatio: 0 });
  const request = { method: 'GET' } as IncomingMessage;
  const respond = (response: Partial<ServerResponse>) => {
    const outcome = { route: undefined, started: performance.now(), upstreamMs: 0, rejection: undefined };
    telemetry.responded(request, response as ServerResponse, { requestId: '1', route: 'lookup.game' }, outcome);
  };
  const shown = (name: string) => metrics.registry.getSingleMetricAsString(name);
  respond({ headersSent: false, destroyed: true, statusCode: 200 });
  expect(await shown('http_requests_total')).toContain('{route="lookup.game",method="GET",code="499"} 1');
  expect(await shown('http_request_duration_seconds')).not.toContain('lookup.game');
  respond({ headersSent: true, writableEnded: true, statusCode: 200 });
  const timed = 'http_request_duration_seconds_count{route="lookup.game",method="GET"} 1';
  expect(await shown('http_request_duration_seconds')).toContain(timed);
});

test('the activity of a key has the status of the metrics, also if the client disconnected', async () => {
  const log = await createLog({ service: 'gateway', level: 'silent' });
  const activity = new KeyActivity(systemClock);
  const telemetry = new GatewayTelemetry({ metrics: new Metrics(), log, activity, accessLogRatio: 0 });
  const request = { method: 'GET' } as IncomingMessage;
  const context = { requestId: '1', route: 'lookup.game', keyId: 'key-1' };
  const respond = (response: Partial<ServerResponse>, rejection?: ApiError) => {
    const outcome = { route: undefined, started: performance.now(), upstreamMs: 0, rejection };
    telemetry.responded(request, response as ServerResponse, context, outcome);
  };
  respond({ headersSent: false, destroyed: true, statusCode: 200 });
  expect(activity.top()).toMatchObject({ busiest: [{ requests: 1, rejected: 0 }], rejected: [] });
  // No head was written, so `statusCode` still has Node's default of 200.
  respond({ headersSent: false, destroyed: true, statusCode: 200 }, new ApiError('RATE_LIMITED'));
  expect(activity.top()).toMatchObject({ busiest: [{ requests: 2, rejected: 1 }] });
});

test('only the configured share of successful requests is logged', async () => {
  expect(await linesOf(undefined)).toEqual([]);
  expect(await linesOf(undefined, { accessLogRatio: 1 })).toMatchObject([
    {
      level: 'info',
      request_id: '4e0d-a.b_c',
      route: 'lookup.game',
      method: 'GET',
      code: 200,
      msg: 'request completed',
    },
  ]);
  const many = await Promise.all(Array.from({ length: 1_000 }, () => linesOf(undefined, { accessLogRatio: 0.5 })));
  const logged = many.flat().length;
  expect(logged).toBeGreaterThan(400);
  expect(logged).toBeLessThan(600);
});
