import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { pathOf } from '#kit/files.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { PORTS } from '../../deploy/chart-files.ts';
import { type JsonObject, valueSet } from './chart.ts';
import { render } from './helm.ts';
import { type PodTemplate, podsWith } from './manifests.ts';

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

type Relabeling = {
  source_labels: string[];
  regex?: string;
  action?: string;
  target_label?: string;
  replacement?: string;
};

/** The rules of deploy/prometheus/prometheus.yml for pods with annotations. */
function exampleRules(): Relabeling[] {
  const example = parse(readFileSync(pathOf('deploy/prometheus/prometheus.yml'), 'utf8')) as {
    scrape_configs: { job_name: string; relabel_configs: Relabeling[] }[];
  };
  return example.scrape_configs.find(({ job_name }) => job_name === 'guild-data')?.relabel_configs ?? [];
}

/** The labels of a pod as Prometheus discovers it. */
function discovered({ metadata }: PodTemplate): Record<string, string> {
  const labels: Record<string, string> = {
    __meta_kubernetes_namespace: 'guild-data',
    __meta_kubernetes_pod_ip: '10.0.0.1',
  };
  for (const [kind, named] of Object.entries({ label: metadata.labels, annotation: metadata.annotations ?? {} })) {
    for (const [name, value] of Object.entries(named)) {
      labels[`__meta_kubernetes_pod_${kind}_${name.replace(/\W/g, '_')}`] = value;
    }
  }
  return labels;
}

/** The labels of a target after relabeling; undefined if it is dropped. */
function relabeled(found: Record<string, string>, rules: readonly Relabeling[]): Record<string, string> | undefined {
  const labels = { ...found };
  for (const { source_labels, regex = '(.*)', action, target_label = '', replacement = '$1' } of rules) {
    const value = source_labels.map((name) => labels[name] ?? '').join(';');
    const matches = new RegExp(`^(?:${regex})$`).test(value);
    if (action === 'keep' && !matches) return undefined;
    if (action === undefined && matches) labels[target_label] = value.replace(new RegExp(`^${regex}$`), replacement);
  }
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !name.startsWith('__meta_')));
}

test('the example for a Prometheus without the operator scrapes the pods of all services, whatever the chart is called', async () => {
  const pods = await podsWith({ nameOverride: 'other', monitoring: { annotations: true }, console: { enabled: true } });
  const targets = [...pods.values()].map((pod) => relabeled(discovered(pod), exampleRules()));
  const expected = DEPLOYABLES.map(({ name }) => ({
    __address__: `10.0.0.1:${PORTS.admin}`,
    job: `guild-data/${name}`,
    namespace: 'guild-data',
    release: 'guild',
  }));
  const kept = targets.filter((one) => one !== undefined);
  expect(kept).toHaveLength(expected.length);
  expect(kept).toEqual(expect.arrayContaining(expected));
});
