import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';

test('parts of the same kind share a gauge, and each is read at a scrape', async () => {
  const metrics = new Metrics();
  for (const channel of ['bans', 'keys']) {
    metrics.gauge('hearing', 'Whether it hears', ['channel'], (gauge) => gauge.set({ channel }, channel.length));
  }
  expect(await metrics.registry.getSingleMetricAsString('hearing')).toContain(
    'hearing{channel="bans"} 4\nhearing{channel="keys"} 4',
  );
});

test('a gauge that is set and not read keeps its value', async () => {
  const metrics = new Metrics();
  metrics.gauge('watchers', 'How many watch').set(3);
  expect(await metrics.registry.getSingleMetricAsString('watchers')).toContain('watchers 3');
});

test('parts of the same kind share a counter', async () => {
  const metrics = new Metrics();
  for (let part = 0; part < 2; part++) metrics.counter('calls_total', 'Calls').inc();
  expect(await metrics.registry.getSingleMetricAsString('calls_total')).toContain('calls_total 2');
});

test('a counter whose labels are known shows each from the start, and one that is shared keeps its counts', async () => {
  const metrics = new Metrics();
  metrics.counterOf('jobs_total', 'Jobs', 'outcome', ['done', 'failed']).inc({ outcome: 'done' });
  metrics.counterOf('jobs_total', 'Jobs', 'outcome', ['done', 'failed']);
  const shown = await metrics.registry.getSingleMetricAsString('jobs_total');
  expect(shown).toContain('jobs_total{outcome="done"} 1\njobs_total{outcome="failed"} 0');
});
