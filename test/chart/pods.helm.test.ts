import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { CHART } from '../../deploy/chart-files.ts';
import { type JsonObject, valueSet } from './chart.ts';
import { manifests, render, runHelm } from './helm.ts';
import { EVALUATION, podOf, podsWith, podTemplates } from './manifests.ts';

/** The services of evaluation mode, in which the console is not enabled. */
const SERVICES = DEPLOYABLES.map(({ name }) => name).filter((name) => name !== 'console');
const SERVERS = ['postgresql', 'redis', 'simulators'];
const COMPONENTS = [...SERVICES, 'guildctl', 'migrate', 'test', ...SERVERS].sort();

const SCHEDULING = {
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'reserved', operator: 'Exists' }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  priorityClassName: 'important',
};
const SPREAD = { topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' };

const selectorOf = (component: string) => ({
  matchLabels: {
    'app.kubernetes.io/name': 'guild-data',
    'app.kubernetes.io/instance': 'guild',
    'app.kubernetes.io/component': component,
  },
});

describe('scheduling', () => {
  test('the defaults apply to every pod, also to the migration, the test and the servers of evaluation', async () => {
    const pods = await podsWith({ defaults: { ...SCHEDULING, topologySpreadConstraints: [SPREAD] } });
    expect([...pods.keys()].sort()).toEqual(COMPONENTS);
    for (const [component, { spec }] of pods) {
      expect(spec).toMatchObject(SCHEDULING);
      expect(spec['topologySpreadConstraints']).toEqual([{ ...SPREAD, labelSelector: selectorOf(component) }]);
    }
  });

  test('by default a service is spread over hosts and zones, and nothing else has a rule', async () => {
    for (const [component, { spec }] of await podsWith({})) {
      const keys = (spec['topologySpreadConstraints'] as JsonObject[] | undefined)?.map(
        ({ topologyKey }) => topologyKey,
      );
      const expected = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'];
      expect(keys).toEqual(SERVICES.includes(component) ? expected : undefined);
      for (const field of Object.keys(SCHEDULING)) expect(spec).not.toHaveProperty(field);
    }
  });

  test('spread: false of a service takes its rules away', async () => {
    const pods = await podsWith({ services: { auth: { spread: false } } });
    expect(podOf(pods, 'auth').spec).not.toHaveProperty('topologySpreadConstraints');
    expect(podOf(pods, 'lookup').spec).toHaveProperty('topologySpreadConstraints');
  });

  test('what a pod has of its own replaces the default, and an empty value removes it', async () => {
    const own = { nodeSelector: { gpu: 'none' }, tolerations: [], affinity: {}, priorityClassName: '' };
    const pods = await podsWith({
      defaults: SCHEDULING,
      services: { gateway: own },
      migrate: own,
      guildctl: own,
      evaluation: { enabled: true, postgresql: own, redis: own, simulators: own },
    });
    for (const component of ['gateway', 'migrate', 'test', 'guildctl', ...SERVERS]) {
      const { spec } = podOf(pods, component);
      expect(spec['nodeSelector']).toEqual({ gpu: 'none' });
      for (const field of ['tolerations', 'affinity', 'priorityClassName']) expect(spec).not.toHaveProperty(field);
    }
    expect(podOf(pods, 'auth').spec).toMatchObject(SCHEDULING);
  });

  test('a rule with a labelSelector of its own keeps it', async () => {
    const labelSelector = { matchLabels: { team: 'a' } };
    const pods = await podsWith({ services: { auth: { topologySpreadConstraints: [{ ...SPREAD, labelSelector }] } } });
    expect(podOf(pods, 'auth').spec['topologySpreadConstraints']).toEqual([{ ...SPREAD, labelSelector }]);
  });
});

describe('labels and annotations', () => {
  test('podLabels and podAnnotations apply to every pod, and those of a service are added to its own', async () => {
    const pods = await podsWith({
      commonLabels: { team: 'common', cost: 'a' },
      podLabels: { team: 'pods' },
      podAnnotations: { 'example.com/owner': 'platform' },
      services: { gateway: { podLabels: { tier: 'edge', cost: 'b' }, podAnnotations: { 'example.com/mesh': 'in' } } },
    });
    expect([...pods.keys()].sort()).toEqual(COMPONENTS);
    for (const [, { metadata }] of pods) {
      expect(metadata.labels).toMatchObject({ team: 'pods' });
      expect(metadata.annotations).toMatchObject({ 'example.com/owner': 'platform' });
    }
    expect(podOf(pods, 'gateway').metadata).toMatchObject({
      labels: { tier: 'edge', cost: 'b', ...selectorOf('gateway').matchLabels },
      annotations: { 'example.com/mesh': 'in', 'kubectl.kubernetes.io/default-container': 'gateway' },
    });
    expect(podOf(pods, 'auth').metadata.labels).toMatchObject({ cost: 'a' });
    expect(podOf(pods, 'auth').metadata.annotations).not.toHaveProperty('example.com/mesh');
  });

  test('deploymentLabels and deploymentAnnotations are those of the Deployment alone', async () => {
    const own = { deploymentLabels: { tier: 'edge' }, deploymentAnnotations: { 'reloader.stakater.com/auto': 'true' } };
    const pods = await podsWith({ services: { gateway: own }, guildctl: own });
    for (const component of ['gateway', 'guildctl']) {
      const { owner, metadata } = podOf(pods, component);
      expect(owner.metadata.labels).toMatchObject({ tier: 'edge', 'app.kubernetes.io/component': component });
      expect(owner.metadata.annotations).toEqual(own.deploymentAnnotations);
      expect(metadata.labels).not.toHaveProperty('tier');
      expect(metadata.annotations ?? {}).not.toHaveProperty('reloader.stakater.com/auto');
    }
    expect(podOf(pods, 'auth').owner.metadata.annotations).toBeUndefined();
  });

  test('a label may be of commonLabels, of an object and of the chart at the same time', async () => {
    const all = await render({
      files: [valueSet('production')],
      values: { commonLabels: { release: 'all', 'example.com/team': 'own', grafana_dashboard: '0' } },
    });
    const labelOf = (kind: string, name: string) => all.find((one) => one.kind === kind)?.metadata.labels?.[name];
    expect(labelOf('Service', 'example.com/team')).toBe('own');
    expect(labelOf('Service', 'release')).toBe('all');
    expect(['ServiceMonitor', 'PrometheusRule'].map((kind) => labelOf(kind, 'release'))).toEqual([
      'prometheus',
      'prometheus',
    ]);
    expect(labelOf('ConfigMap', 'grafana_dashboard')).toBe('1');
  });

  test('versions with build metadata give valid labels and a valid tag of the image', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'guild-data-chart-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    cpSync(CHART, folder, { recursive: true });
    const file = join(folder, 'Chart.yaml');
    const text = readFileSync(file, 'utf8').replace(/^version: .*/m, `version: 1.2.3+${'build.'.repeat(10)}7`);
    writeFileSync(file, text.replace(/^appVersion: .*/m, 'appVersion: 1.2.3+build.7'));
    const words = ['template', 'guild', folder, '--namespace', 'guild-data', '--values', '-'];
    const all = manifests(await runHelm(words, undefined, JSON.stringify(EVALUATION)));
    for (const { metadata } of all) {
      for (const value of Object.values(metadata.labels ?? {})) {
        expect(value).toMatch(/^(?=.{0,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/);
      }
    }
    const charts = new Set(all.map(({ metadata }) => metadata.labels?.['helm.sh/chart']).filter(Boolean));
    expect([...charts]).toEqual([expect.stringMatching(/^guild-data-1\.2\.3_build/)]);
    expect(podOf(podTemplates(all), 'auth').spec.containers[0]?.image).toBe('guild-data:1.2.3_build.7');
  });
});

describe('resources', () => {
  test('null removes a default, of the chart and of one’s own', async () => {
    const pods = await podsWith({
      defaults: { resources: { limits: { cpu: '1' } } },
      services: { lookup: { resources: { requests: { cpu: null }, limits: { memory: null } } } },
    });
    expect(podOf(pods, 'lookup').spec.containers[0]?.resources).toEqual({
      requests: { memory: '128Mi' },
      limits: { cpu: '1' },
    });
    expect(podOf(pods, 'auth').spec.containers[0]?.resources.limits).toEqual({ cpu: '1', memory: '512Mi' });
  });
});

describe('images', () => {
  const imagesOf = async (values: JsonObject) =>
    [...(await podsWith(values)).values()].flatMap(({ spec }) =>
      [...spec.containers, ...(spec.initContainers ?? [])].map(({ image }) => image),
    );

  test('global.imageRegistry is that of every image, instead of its own', async () => {
    const values = { global: { imageRegistry: 'mirror.example' }, image: { registry: 'registry.example' } };
    const images = new Set(await imagesOf(values));
    expect([...images].map((one) => one.replace(/:.*/, '')).sort()).toEqual([
      'mirror.example/guild-data',
      'mirror.example/library/postgres',
      'mirror.example/library/redis',
    ]);
  });

  test('without it each image has its own registry', async () => {
    const images = new Set(await imagesOf({ image: { registry: 'registry.example' } }));
    expect([...images].map((one) => one.replace(/:.*/, '')).sort()).toEqual([
      'docker.io/library/postgres',
      'docker.io/library/redis',
      'registry.example/guild-data',
    ]);
  });

  test('every pod has global.imagePullSecrets and its own, each once', async () => {
    const pods = await podsWith({
      global: { imagePullSecrets: ['one', { name: 'two' }] },
      imagePullSecrets: [{ name: 'two' }, { name: 'three' }],
    });
    for (const [, { spec }] of pods) {
      expect(spec['imagePullSecrets']).toEqual([{ name: 'one' }, { name: 'two' }, { name: 'three' }]);
    }
  });
});
