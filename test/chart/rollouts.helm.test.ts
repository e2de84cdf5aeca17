import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { DEPLOYABLES } from '#local/processes.ts';
import { CHART } from '../../deploy/chart-files.ts';
import { startApiServer } from './api-server.ts';
import type { JsonObject } from './chart.ts';
import { helms, type Manifest, render } from './helm.ts';
import { EVALUATION, objectOf, podOf, podsWith } from './manifests.ts';
import { wrongRequests } from './sizing.ts';

const DEFAULT_STRATEGY = { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
const deploymentOf = async (name: string, values: JsonObject): Promise<Manifest> =>
  podOf(await podsWith(values), name).owner;

describe('the stop of a pod', () => {
  const stopOf = async (values: JsonObject) => {
    const { spec } = podOf(await podsWith(values), 'gateway');
    return [spec.containers[0]?.lifecycle, spec.terminationGracePeriodSeconds];
  };

  test('a pod first serves as before, and has time for that and for its stop', async () => {
    expect(await stopOf({})).toEqual([{ preStop: { sleep: { seconds: 2 } } }, 2 + 25 + 5]);
    const values = { stopSeconds: 100, services: { gateway: { preStopSeconds: 60 } } };
    expect(await stopOf(values)).toEqual([{ preStop: { sleep: { seconds: 60 } } }, 60 + 100 + 5]);
  });

  test('preStopSeconds: 0 removes the hook, because Kubernetes rejects a sleep of no time', async () => {
    expect(await stopOf({ defaults: { preStopSeconds: 0 } })).toEqual([undefined, 25 + 5]);
  });

  test('a lifecycle of one’s own replaces the hook', async () => {
    const lifecycle = { preStop: { httpGet: { path: '/livez', port: 'admin' } } };
    expect(await stopOf({ services: { gateway: { lifecycle } } })).toEqual([lifecycle, 2 + 25 + 5]);
  });
});

test.each(helms())(
  'autoscaling that is enabled in a running release keeps the present number of pods: %s',
  async (helm) => {
    const server = await startApiServer();
    onTestFinished(() => server.stop());
    const values = { ...EVALUATION, services: { gateway: { autoscaling: { enabled: true } } } };
    const replicasOf = async (name: string) => {
      const all = await render({ values, kubeconfig: server.kubeconfig, helm });
      return objectOf(all, 'Deployment', name)?.['spec'].replicas as unknown;
    };
    expect(await replicasOf('-gateway')).toBeUndefined();
    const labels = { 'app.kubernetes.io/managed-by': 'Helm' };
    const metadata = { name: 'guild-guild-data-gateway', labels };
    server.install({ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 7 } });
    expect(await replicasOf('-gateway')).toBe(7);
    expect(await replicasOf('-auth')).toBe(2);
  },
);

describe('the rollout of a Deployment', () => {
  test('by default one more pod at a time starts, and none less serves', async () => {
    for (const [, { owner }] of await podsWith({})) {
      if (owner.kind !== 'Deployment' || owner.metadata.name.endsWith('guildctl')) continue;
      expect(owner['spec']).toMatchObject({ strategy: DEFAULT_STRATEGY, minReadySeconds: 5, replicas: 2 });
    }
  });

  test('strategy, minReadySeconds and readinessGates of a service are those of its Deployment', async () => {
    const own = {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%', maxSurge: '50%' } },
      minReadySeconds: 15,
      readinessGates: [{ conditionType: 'target-health.elbv2.k8s.aws/gateway' }],
    };
    const pods = await podsWith({ services: { gateway: own } });
    const { owner, spec } = podOf(pods, 'gateway');
    expect(owner['spec']).toMatchObject({ strategy: own.strategy, minReadySeconds: 15 });
    expect(spec['readinessGates']).toEqual(own.readinessGates);
    expect(podOf(pods, 'auth').owner['spec'].strategy).toEqual(DEFAULT_STRATEGY);
    expect(podOf(pods, 'auth').spec).not.toHaveProperty('readinessGates');
  });

  test('a strategy of the defaults applies to all services, also one without rolling updates', async () => {
    const strategy = { type: 'Recreate' };
    expect((await deploymentOf('events', { defaults: { strategy } }))['spec'].strategy).toEqual(strategy);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['a surge of its own', { rollingUpdate: { maxSurge: '100%' } }, { maxSurge: '100%', maxUnavailable: 0 }],
    ['a type alone', { type: 'RollingUpdate' }, { maxUnavailable: 0 }],
    ['both', { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } }, { maxSurge: 0, maxUnavailable: 1 }],
  ])('with %s no pod is stopped before a new one serves, unless values say so', async (_, strategy, rollingUpdate) => {
    const { rollingUpdate: rendered } = (await deploymentOf('auth', { services: { auth: { strategy } } }))['spec']
      .strategy;
    expect(rendered).toEqual(rollingUpdate);
  });

  test.each<[string, JsonObject, RegExp]>([
    ['only a surge of no pods in its', { rollingUpdate: { maxSurge: 0 } }, /lets no pod be replaced/],
    ['no', { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } }, /lets no pod be replaced/],
    ['Recreate and', { type: 'Recreate', rollingUpdate: { maxSurge: 1 } }, /rollingUpdate of auth must be empty/],
  ])('a strategy with %s rolling updates is rejected', async (_, strategy, message) => {
    await expect(podsWith({ services: { auth: { strategy } } })).rejects.toThrow(message);
  });

  test.each([60, 1800, 7200])('it may take ten minutes longer than a migration of %i s', async (deadlineSeconds) => {
    const pods = await podsWith({ migrate: { waitSeconds: 30, lockWaitSeconds: 30, deadlineSeconds } });
    expect(podOf(pods, 'migrate').owner['spec'].activeDeadlineSeconds).toBe(deadlineSeconds);
    expect(podOf(pods, 'gateway').owner['spec'].progressDeadlineSeconds).toBe(deadlineSeconds + 600);
  });

  test('a migration that would end while it still waits for the database is rejected', async () => {
    await expect(podsWith({ migrate: { waitSeconds: 300, deadlineSeconds: 300 } })).rejects.toThrow(
      'migrate.deadlineSeconds must be more than migrate.waitSeconds',
    );
  });

  test.each([1800, 2000])(
    'a migration that may wait %i s for locks, longer than its Job, is rejected',
    async (wait) => {
      await expect(podsWith({ migrate: { lockWaitSeconds: wait, deadlineSeconds: 1800 } })).rejects.toThrow(
        'migrate.deadlineSeconds must be more than migrate.lockWaitSeconds',
      );
    },
  );

  test.each([0, 1, 3])('services start %i s apart, each after those that it calls', async (startStepSeconds) => {
    const pods = await podsWith({ startStepSeconds });
    const delayOf = (name: string) => {
      const variables = podOf(pods, name).spec.initContainers?.[0]?.env;
      return Number(variables?.find((one) => one.name === 'START_DELAY_SECONDS')?.value);
    };
    const stored = DEPLOYABLES.filter(({ holds }) => holds.includes('database'));
    const delays = stored.map(({ name }) => delayOf(name)).sort((one, other) => one - other);
    expect(delays).toEqual(stored.map((_, position) => position * startStepSeconds));
    for (const { name, calls } of stored) {
      for (const called of calls) expect(delayOf(name) - delayOf(called)).toBeGreaterThanOrEqual(startStepSeconds);
    }
  });

  test('every container of the chart requests the memory that its process uses', async () => {
    const pods = await podsWith({ console: { enabled: true } });
    const resources = (name: string) => podOf(pods, name).spec.containers[0]?.resources;
    const memory = (name: string) => resources(name)?.requests['memory'];
    expect(wrongRequests((name) => ({ request: memory(name), limit: resources(name)?.limits?.['memory'] }))).toEqual(
      [],
    );
    expect(['migrate', 'simulators', 'guildctl'].map(memory)).toEqual(['128Mi', '128Mi', '64Mi']);
  });
});

describe('autoscaling', () => {
  const scalerOf = async (name: string, autoscaling: JsonObject) => {
    const all = await render({ values: { ...EVALUATION, services: { [name]: { autoscaling } } } });
    return [objectOf(all, 'HorizontalPodAutoscaler', name), objectOf(all, 'Deployment', `-${name}`)] as const;
  };

  test('it targets the CPU of the service’s own container, without that of sidecars', async () => {
    const [scaler, deployment] = await scalerOf('activity', { enabled: true });
    expect(scaler?.['spec'].metrics).toEqual([
      {
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: 'activity',
          target: { type: 'AverageValue', averageValue: '600m' },
        },
      },
    ]);
    expect(scaler?.['spec']).not.toHaveProperty('behavior');
    expect(deployment?.['spec']).not.toHaveProperty('replicas');
  });

  test('it targets metrics of the pods, further metrics, and has a behaviour of its own', async () => {
    const external = {
      type: 'External',
      external: { metric: { name: 'queue' }, target: { type: 'Value', value: '5' } },
    };
    const behavior = { scaleDown: { stabilizationWindowSeconds: 600 } };
    const podMetrics = { event_loop_utilisation_ratio: '700m', activity_open_polls: 5000 };
    const [scaler] = await scalerOf('activity', { enabled: true, podMetrics, metrics: [external], behavior });
    const pods = (name: string, averageValue: string) => ({
      type: 'Pods',
      pods: { metric: { name }, target: { type: 'AverageValue', averageValue } },
    });
    expect(scaler?.['spec'].metrics.slice(1)).toEqual([
      pods('activity_open_polls', '5000'),
      pods('event_loop_utilisation_ratio', '700m'),
      external,
    ]);
    expect(scaler?.['spec'].behavior).toEqual(behavior);
  });

  test('external: something else sets the replicas, and limits are divided by the least of them', async () => {
    const [scaler, deployment] = await scalerOf('gateway', { external: true, minReplicas: 4 });
    expect(scaler).toBeUndefined();
    expect(deployment?.['spec']).not.toHaveProperty('replicas');
    const { env } = deployment?.['spec'].template.spec.containers[0] ?? {};
    expect(env).toContainEqual({ name: 'GATEWAY_REPLICAS', value: '4' });
  });

  test('the example of KEDA scales existing Deployments between the bounds that the chart knows', async () => {
    const example = join(CHART, 'examples', 'keda-values.yaml');
    const all = await render({ files: [example], values: EVALUATION });
    const scaled = all.filter(({ kind }) => kind === 'ScaledObject');
    const { services } = parse(readFileSync(example, 'utf8')) as {
      services: Record<string, { autoscaling: { minReplicas: number; maxReplicas: number } }>;
    };
    expect(scaled.map(({ metadata }) => metadata.name.replace('guild-guild-data-', '')).sort()).toEqual(
      Object.keys(services).sort(),
    );
    for (const { metadata, spec } of scaled) {
      const [name = ''] = Object.keys(services).filter((one) => metadata.name.endsWith(one));
      const deployment = all.find((one) => one.kind === 'Deployment' && one.metadata.name === spec.scaleTargetRef.name);
      expect(deployment?.['spec']).not.toHaveProperty('replicas');
      expect([spec.minReplicaCount, spec.maxReplicaCount]).toEqual([
        services[name]?.autoscaling.minReplicas,
        services[name]?.autoscaling.maxReplicas,
      ]);
      for (const { type, metadata: query } of spec.triggers) {
        expect(type).toBe('prometheus');
        expect(query.query).toContain(`{namespace="guild-data", release="guild", job="guild-data/${name}"}`);
      }
    }
    expect(all.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')).toEqual([]);
  });

  test.each([['0.5'], ['1.5'], [1.5], ['250m'], [2]])('the target may be %j CPUs', async (cpuPerPod) => {
    const [scaler] = await scalerOf('auth', { enabled: true, cpuPerPod });
    expect(scaler?.['spec'].metrics[0].containerResource.target.averageValue).toBe(String(cpuPerPod));
  });

  test('a pod at least, more than one at most, and a single scaler', async () => {
    await expect(scalerOf('auth', { enabled: true, external: true })).rejects.toThrow('autoscaling of auth is either');
    await expect(scalerOf('auth', { minReplicas: 5, maxReplicas: 4 })).rejects.toThrow('minReplicas of auth');
    await expect(scalerOf('auth', { enabled: true, podMetrics: { depth: '0' } })).rejects.toThrow(/podMetrics/);
    await expect(scalerOf('auth', { enabled: true, cpuPerPod: '0m' })).rejects.toThrow(/cpuPerPod/);
    await expect(scalerOf('auth', { enabled: true, cpuPerPod: '0.0' })).rejects.toThrow(/cpuPerPod/);
    await expect(scalerOf('auth', { enabled: true, cpuPerPod: 0 })).rejects.toThrow(/cpuPerPod/);
  });
});
