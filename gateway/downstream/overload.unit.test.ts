import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { OVERLOADS, OverloadLog } from './overload.ts';

test.each(Object.values(OVERLOADS))('an overload rejection ($bound) asks to retry in a second', (error) => {
  expect([error.httpStatus, error.code, error.retryAfter]).toEqual([503, 'UNAVAILABLE', 1]);
});

test('each rejection is counted, and a warning without a stack is logged once a second', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const metrics = new Metrics();
  let now = 0;
  const overload = new OverloadLog({ metrics, log, now: () => now });
  for (; now < 2_500; now++) overload.rejected('guild');
  expect(lines.map(({ level, rejected }) => [level, rejected])).toEqual([
    [40, 1],
    [40, 1_000],
    [40, 1_000],
  ]);
  expect(JSON.stringify(lines)).not.toContain('stack');
  const text = await metrics.registry.getSingleMetricAsString('gateway_overload_rejections_total');
  expect(text).toMatch(/^gateway_overload_rejections_total\{bound="guild"\} 2500$/m);
  // Present before the first rejection, so that an alert can detect its increase.
  expect(text).toMatch(/^gateway_overload_rejections_total\{bound="address"\} 0$/m);
});
