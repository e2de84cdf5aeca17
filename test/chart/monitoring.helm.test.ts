import { expect, test } from 'vitest';
import { type JsonObject, valueSet } from './chart.ts';
import { render } from './helm.ts';

const files = [valueSet('production')];

/** The endpoint of the ServiceMonitor. */
async function endpointOf(monitoring: JsonObject) {
  const all = await render({ files, values: { monitoring } });
  return all.find(({ kind }) => kind === 'ServiceMonitor')?.['spec'].endpoints[0];
}

test('the ServiceMonitor labels series with the service and the release, from the labels of its Services', async () => {
  const { relabelings, metricRelabelings } = await endpointOf({ serviceMonitor: { enabled: true } });
  expect(relabelings).toEqual([
    {
      sourceLabels: ['__meta_kubernetes_service_label_app_kubernetes_io_component'],
      targetLabel: 'job',
      replacement: 'guild-data/$1',
    },
    { sourceLabels: ['__meta_kubernetes_service_label_app_kubernetes_io_instance'], targetLabel: 'release' },
  ]);
  expect(metricRelabelings).toBeUndefined();
  const services = (await render({ files })).filter(({ kind, metadata }) => {
    return kind === 'Service' && metadata.labels?.['guild-data/metrics'] === 'true';
  });
  expect(services.length).toBeGreaterThan(7);
  for (const { metadata } of services) {
    expect(Object.keys(metadata.labels ?? {})).toEqual(
      expect.arrayContaining(['app.kubernetes.io/component', 'app.kubernetes.io/instance']),
    );
  }
});

test('monitoring.cluster is the label cluster of the series, and further relabelings follow', async () => {
  const own = { targetLabel: 'team', replacement: 'platform' };
  const dropped = { sourceLabels: ['__name__'], regex: 'nodejs_gc_.+', action: 'drop' };
  const { relabelings, metricRelabelings } = await endpointOf({
    cluster: 'east',
    serviceMonitor: { enabled: true, relabelings: [own], metricRelabelings: [dropped] },
  });
  expect(relabelings.slice(2)).toEqual([{ targetLabel: 'cluster', replacement: 'east' }, own]);
  expect(metricRelabelings).toEqual([dropped]);
});
