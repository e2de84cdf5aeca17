import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Manifest } from './helm.ts';

/** The kinds that the chart uses, by group and version. */
const KINDS: Record<string, string[]> = {
  v1: ['Secret', 'Service', 'ServiceAccount', 'ConfigMap', 'Pod'],
  'apps/v1': ['Deployment', 'StatefulSet'],
  'autoscaling/v2': ['HorizontalPodAutoscaler'],
  'batch/v1': ['Job'],
  'networking.k8s.io/v1': ['NetworkPolicy'],
  'policy/v1': ['PodDisruptionBudget'],
};

/** Annotations by which Helm recognises the objects of a release. */
const OWNED = { 'meta.helm.sh/release-name': 'guild', 'meta.helm.sh/release-namespace': 'guild-data' };

export interface ApiServer {
  /** Path for KUBECONFIG. */
  kubeconfig: string;
  /** Creates or replaces Secrets, ConfigMaps and Deployments as Helm does. */
  install(...objects: Manifest[]): void;
  remove(object: Manifest): void;
  stop(): Promise<void>;
}

/** The part of the Kubernetes API that Helm needs to render templates that look up these objects. */
export async function startApiServer(): Promise<ApiServer> {
  const objects = new Map<string, Manifest>();
  const server = createServer((request, response) => {
    const found = answer(request.url?.split('?')[0] ?? '', objects);
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-kubeconfig-'));
  const kubeconfig = join(folder, 'config');
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const config = {
    clusters: [{ name: 'test', cluster }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    users: [{ name: 'test', user: {} }],
    'current-context': 'test',
  };
  writeFileSync(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  };
  const install = (...all: Manifest[]) => {
    for (const one of all) objects.set(keyOf(one), { ...one, metadata: { ...one.metadata, annotations: OWNED } });
  };
  return { kubeconfig, install, remove: (one) => void objects.delete(keyOf(one)), stop };
}

/** As in the path of a request. */
const keyOf = ({ kind, metadata }: Manifest) => `${kind.toLowerCase()}s/${metadata.name}`;

function answer(path: string, objects: ReadonlyMap<string, Manifest>): object | undefined {
  if (path === '/version') return { major: '1', minor: '37', gitVersion: 'v1.37.0' };
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups() };
  const [, , listed] = /^\/(api|apis)\/(.+)$/.exec(path) ?? [];
  if (listed !== undefined && KINDS[listed]) return resourcesOf(listed);
  const [, key = ''] =
    /^\/api(?:s\/apps)?\/v1\/namespaces\/[^/]+\/((?:secrets|configmaps|deployments)\/[^/]+)$/.exec(path) ?? [];
  return objects.get(key);
}

function groups() {
  return Object.keys(KINDS)
    .filter((version) => version.includes('/'))
    .map((groupVersion) => {
      const [name, version] = groupVersion.split('/');
      return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
    });
}

function resourcesOf(groupVersion: string) {
  const resources = (KINDS[groupVersion] ?? []).map((kind) => ({
    name: kind === 'NetworkPolicy' ? 'networkpolicies' : `${kind.toLowerCase()}s`,
    namespaced: true,
    kind,
    verbs: ['get', 'list', 'create'],
  }));
  return { kind: 'APIResourceList', groupVersion, resources };
}
