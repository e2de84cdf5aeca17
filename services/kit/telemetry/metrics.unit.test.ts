import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';
import type { Span } from './tracing/span.ts';

test('parts that share a gauge each set their own labels at a scrape', async () => {
  const metrics = new Metrics();
  for (const channel of ['bans', 'keys']) {
    metrics.gauge('listening', 'Whether it listens', ['channel'], (gauge) => gauge.set({ channel }, channel.length));
  }
  expect(await metrics.registry.getSingleMetricAsString('listening')).toContain(
    'listening{channel="bans"} 4\nlistening{channel="keys"} 4',
  );
});

test('a gauge without a collect function keeps the value that was set', async () => {
  const metrics = new Metrics();
  metrics.gauge('watchers', 'Open watches').set(3);
  expect(await metrics.registry.getSingleMetricAsString('watchers')).toContain('watchers 3');
});

test('parts that ask for the same counter share it', async () => {
  const metrics = new Metrics();
  for (let part = 0; part < 2; part++) metrics.counter('calls_total', 'Calls').inc();
  expect(await metrics.registry.getSingleMetricAsString('calls_total')).toContain('calls_total 2');
});

test('a counter with known label values shows each from the start, and sharing it does not reset it', async () => {
  const metrics = new Metrics();
  metrics.counterOf('jobs_total', 'Jobs', 'outcome', ['done', 'failed']).inc({ outcome: 'done' });
  metrics.counterOf('jobs_total', 'Jobs', 'outcome', ['done', 'failed']);
  const shown = await metrics.registry.getSingleMetricAsString('jobs_total');
  expect(shown).toContain('jobs_total{outcome="done"} 1\njobs_total{outcome="failed"} 0');
});

test('a histogram shows cumulative buckets, the sum and the count', async () => {
  const metrics = new Metrics();
  const seconds = metrics.duration('wait_seconds', 'Waits', ['purpose']);
  for (const each of [0.0005, 0.0006, 0.3, 31]) seconds.observe({ purpose: 'job' }, each);
  seconds.observe({ purpose: 'other' }, 0.002);
  const shown = await metrics.registry.getSingleMetricAsString('wait_seconds');
  expect(shown).toContain('# TYPE wait_seconds histogram');
  for (const [le, count] of [
    ['0.0005', 1],
    ['0.001', 2],
    ['0.25', 2],
    ['0.5', 3],
    ['30', 3],
    ['+Inf', 4],
  ]) {
    expect(shown).toContain(`wait_seconds_bucket{le="${le}",purpose="job"} ${count}\n`);
  }
  expect(shown).toContain('wait_seconds_sum{purpose="job"} 31.3011\nwait_seconds_count{purpose="job"} 4\n');
  expect(shown).toContain('wait_seconds_count{purpose="other"} 1');
});

test('several services in one process measure its event loop and its garbage collections once', async () => {
  const [one, other] = [new Metrics(), new Metrics()];
  for (const name of ['nodejs_eventloop_lag_seconds', 'nodejs_gc_duration_seconds']) {
    expect(one.registry.getSingleMetric(name)).toBe(other.registry.getSingleMetric(name));
    expect(await other.text()).toContain(`# HELP ${name} `);
  }
});

test('the metrics of the process itself may be left out', async () => {
  const names = async (metrics: Metrics) =>
    [...(await metrics.text()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  expect(await names(new Metrics())).toContain('process_start_time_seconds');
  expect(await names(new Metrics({ ofProcess: false }))).toEqual(['build_info']);
});

test('a metric without labels is shown before its first use, one with labels is not', async () => {
  const metrics = new Metrics();
  metrics.counter('calls_total', 'Calls');
  metrics.duration('call_seconds', 'Calls');
  metrics.counter('rejections_total', 'Rejections', ['reason']);
  const shown = await metrics.registry.metrics();
  expect(shown).toContain('\ncalls_total 0\n');
  expect(shown).toContain('\ncall_seconds_count 0\n');
  expect(shown).not.toContain('rejections_total{');
});

test('two series are the same only if all of their labels are', async () => {
  const metrics = new Metrics();
  const responses = metrics.counter('responses_total', 'Responses', ['route', 'code']);
  responses.inc({ route: 'a', code: 200 });
  responses.inc({ route: 'b', code: 200 }, 2);
  responses.inc({ route: 'a', code: 404 });
  // The number 200 and the text '200' are one series: Prometheus rejects a scrape that has a series twice.
  responses.inc({ route: 'a', code: '200' });
  expect(await metrics.registry.getSingleMetricAsString('responses_total')).toContain(
    'responses_total{route="a",code="200"} 2\nresponses_total{route="b",code="200"} 2\nresponses_total{route="a",code="404"} 1',
  );
});

test('text() writes what the registry writes, and yields to the event loop meanwhile', async () => {
  const metrics = new Metrics();
  metrics.counter('calls_total', 'Calls', ['route']).inc({ route: 'with "quotes" and \\' });
  metrics.duration('call_seconds', 'Calls').observe({}, 0.2);
  let hasYielded = false;
  setImmediate(() => (hasYielded = true));
  const text = await metrics.text();
  expect(hasYielded).toBe(true);
  const stable = (all: string) => all.split('\n').filter((line) => /^(# |calls_total|call_seconds)/.test(line));
  expect(stable(text)).toEqual(stable(await metrics.registry.metrics()));
  expect(text).toContain(String.raw`calls_total{route="with \"quotes\" and \\"} 1`);
});

test('only with exemplars, and only for a scraper that accepts it, metrics are in OpenMetrics', () => {
  const accept = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4';
  expect(new Metrics().formatFor(accept)).toBe('prometheus');
  const metrics = new Metrics({ exemplars: true });
  expect(metrics.formatFor(accept)).toBe('openmetrics');
  for (const other of [undefined, '*/*', 'text/plain;version=0.0.4'])
    expect(metrics.formatFor(other)).toBe('prometheus');
});

test('in OpenMetrics a duration has the trace of a sampled request as exemplar, and all else is the same', async () => {
  const metrics = new Metrics({ exemplars: true });
  const seconds = metrics.requestDuration('request_seconds', 'Requests', ['route']);
  metrics.counter('calls_total', 'Calls').inc();
  metrics.counterOf('jobs_total', 'Jobs', 'outcome', ['done']);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  seconds.observe({ route: 'a' }, 0.002, { isSampled: true, traceId } as Span);
  seconds.observe({ route: 'a' }, 0.2, { isSampled: false, traceId } as Span);
  seconds.observe({ route: 'b' }, 0.2, undefined);
  const [text, classic] = await Promise.all([metrics.text('openmetrics'), metrics.text()]);
  const exemplars = text.split('\n').filter((line) => line.includes(' # {'));
  expect(exemplars).toEqual([
    expect.stringMatching(
      new RegExp(
        String.raw`^request_seconds_bucket\{le="0\.0025",route="a"\} 1 # \{trace_id="${traceId}"\} 0\.002 \d+(\.\d+)?$`,
      ),
    ),
  ]);
  expect(text).toContain('# TYPE calls counter\ncalls_total 1\n');
  expect(text).toContain('# HELP jobs Jobs\n# TYPE jobs counter\njobs_total{outcome="done"} 0\n');
  expect(text).not.toMatch(/\n\n|_total_total/);
  expect(text.endsWith('\n# EOF\n')).toBe(true);
  expect(classic).not.toMatch(/ # \{|# EOF/);
  expect(classic).toContain('# TYPE calls_total counter\ncalls_total 1\n');
  const series = (all: string) =>
    all.split('\n').flatMap((line) => /^(?:request|calls|jobs)_[^#]*[^# ]/.exec(line)?.[0] ?? []);
  expect(series(text)).toEqual(series(classic));
  expect(series(text).length).toBeGreaterThan(30);
});
