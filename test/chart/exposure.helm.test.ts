import { expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { type Json, type JsonObject, VALUE_SETS, valueSet } from './chart.ts';
import { type Container, containerOf, environmentOf, ofKind } from './environment.ts';
import { type Manifest, render } from './helm.ts';
import { podOf, podTemplates } from './manifests.ts';

const specOf = (all: readonly Manifest[], kind: string, component = 'gateway') =>
  ofKind(all, kind, component).map(({ spec }) => spec as JsonObject);

test('an Ingress has a rule for each host, and a certificate for those with a Secret', async () => {
  const [spec] = specOf(await render({ files: [valueSet('cloudnativepg')] }), 'Ingress');
  const rules = spec?.['rules'] as { host: string; http: { paths: Json } }[];
  const backend = { service: { name: 'guild-guild-data-gateway', port: { name: 'public' } } };
  expect(rules).toEqual(
    ['guild-data.example', 'api.example', 'internal.example'].map((host) => ({
      host,
      http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
    })),
  );
  expect(spec?.['tls']).toEqual([{ secretName: 'api-tls', hosts: ['api.example'] }]);
});

test('an HTTPRoute has the filters and timeouts, and by default none that ends a poll', async () => {
  const files = [valueSet('cloudnativepg')];
  const ruleOf = async (values: Json) => {
    const [spec] = specOf(await render({ files, values }), 'HTTPRoute');
    return ((spec?.['rules'] ?? []) as JsonObject[])[0];
  };
  expect(await ruleOf({})).toMatchObject({
    filters: [{ type: 'ResponseHeaderModifier' }],
    timeouts: { request: '60s', backendRequest: '40s' },
    backendRefs: [{ name: 'guild-guild-data-gateway', port: 80 }],
  });
  const [standard] = specOf(await render({ files: [valueSet('pooler')] }), 'HTTPRoute');
  expect(((standard?.['rules'] ?? []) as JsonObject[])[0]).toMatchObject({ timeouts: { request: '0s' } });
  const none = await ruleOf({
    httpRoute: { filters: [], timeouts: { requestSeconds: null, backendRequestSeconds: null } },
  });
  expect(Object.keys(none ?? {}).sort()).toEqual(['backendRefs', 'matches']);
});

test('the gateway and the console each have a Route of OpenShift, with a timeout that is longer than a poll', async () => {
  const files = [valueSet('openshift')];
  const route = { tls: { certificateSecret: 'console-tls' } };
  const all = await render({ files, values: { console: { route } } });
  for (const [component, host, certificate] of [
    ['gateway', 'guild-data.example', {}],
    ['console', 'console.example', { externalCertificate: { name: 'console-tls' } }],
  ] as const) {
    const [found] = ofKind(all, 'Route', component);
    expect(found?.metadata.annotations).toEqual({ 'haproxy.router.openshift.io/timeout': '60s' });
    expect(found?.spec).toEqual({
      host,
      to: { kind: 'Service', name: `guild-guild-data-${component}`, weight: 100 },
      port: { targetPort: 'public' },
      tls: {
        termination: 'edge',
        insecureEdgeTerminationPolicy: 'Redirect',
        ...certificate,
      },
    });
  }
});

test('further objects are templates, as objects and as text', async () => {
  const all = await render({ files: [valueSet('cloudnativepg')] });
  const extra = ofKind(all, 'ConfigMap', 'extra').map(({ metadata, data }) => [metadata.name, data as Json]);
  expect(extra).toEqual([
    ['guild-extra', { namespace: 'guild-data' }],
    ['guild-guild-data-text', {}],
  ]);
});

test('the Secrets of CloudNativePG are used as they are, and each service connects with the role of its own Secret', async () => {
  const all = await render({ files: [valueSet('cloudnativepg')] });
  for (const { name } of DEPLOYABLES.filter(({ holds }) => holds.includes('database'))) {
    const container = containerOf(all, name) as Container;
    const from = Object.fromEntries(container.env.map((one) => [one.name, one.valueFrom?.secretKeyRef]));
    expect(from).toMatchObject({
      DATABASE_HOST: { name: 'pg-app', key: 'host' },
      DATABASE_PORT: { name: 'pg-app', key: 'port' },
      DATABASE_NAME: { name: 'pg-app', key: 'dbname' },
      DATABASE_USER: { name: `pg-${name}`, key: 'username' },
      PGPASSWORD: { name: `pg-${name}`, key: 'password' },
      INTERNAL_KEYS: { name: `guild-data-keys-${name}`, key: 'keys' },
    });
    expect(environmentOf(container)['DATABASE_URL']).toBe(
      'postgres://role@database.example:5432/app?sslmode=verify-full&sslrootcert=/etc/guild-data/database-ca/ca.crt',
    );
  }
  const [migrate] = podOf(podTemplates(all), 'migrate').spec.containers;
  expect(migrate?.env).toContainEqual({
    name: 'AUTH_DATABASE_USER',
    valueFrom: { secretKeyRef: { name: 'pg-auth', key: 'username' } },
  });
  expect(migrate?.env?.map(({ name }) => name)).not.toContain('AUTH_DATABASE_PASSWORD');
});

test('a CA may be in a ConfigMap, wherever it may be in a Secret', async () => {
  const all = await render({ files: [valueSet('openshift')] });
  const mounted = (component: string) => {
    const [spec] = specOf(all, 'Deployment', component) as { template: { spec: { volumes: JsonObject[] } } }[];
    return (spec?.template.spec.volumes ?? [])
      .filter(({ configMap }) => configMap !== undefined)
      .map(({ name }) => name as string);
  };
  expect(mounted('auth').sort()).toEqual(['database-ca', 'oidc-ca', 'platforms-ca', 'tracing-ca']);
  expect(mounted('members').sort()).toEqual(['database-ca', 'platforms-ca', 'redis-ca', 'tracing-ca']);
  expect(mounted('events').sort()).toEqual(['database-ca', 'redis-ca', 'tracing-ca', 'webhooks-ca']);
  expect(mounted('gateway').sort()).toEqual(['redis-ca', 'tracing-ca']);
});

test.each<[string, JsonObject, number[]]>([
  ['by default', {}, []],
  ['with http: URLs', { allowHttp: true }, [80]],
  ['with a proxy, whose port may be 80', { proxySecret: { name: 'proxy' } }, [80]],
])('webhooks may be sent to ports 443 and above 1023, %s', async (_, webhooks, more) => {
  const all = await render({ files: [valueSet('console')], values: { webhooks } });
  const [policy] = specOf(all, 'NetworkPolicy', 'events') as { egress: Rule[] }[];
  expect(policy?.egress.at(-1)?.ports.map(({ port }) => port)).toEqual([...more, 443, 1024]);
});

type Peer = { podSelector?: { matchExpressions?: { values: string[] }[] } };
type Rule = { to?: Peer[]; from?: Peer[]; ports: { port: number }[] };

/** The processes of the release with which the policy of a component allows connections, with the ports. */
function connections(all: readonly Manifest[], component: string, direction: 'egress' | 'ingress'): string[] {
  const rules = specOf(all, 'NetworkPolicy', component).flatMap((spec) => (spec[direction] ?? []) as Rule[]);
  return rules.flatMap(({ to, from, ports }) =>
    (to ?? from ?? [])
      .flatMap(({ podSelector }) => podSelector?.matchExpressions ?? [])
      .flatMap(({ values }) => values.flatMap((peer) => ports.map(({ port }) => `${peer} ${port}`))),
  );
}

test.each(VALUE_SETS.filter((name) => name !== 'small'))(
  'with the values %s each process may reach the services that it calls, and no other process',
  async (name) => {
    const all = await render({ files: [valueSet(name)] });
    const present = DEPLOYABLES.filter((one) => containerOf(all, one.name) !== undefined);
    for (const { name: process, calls, forwards, holds, listens } of present) {
      const out = connections(all, process, 'egress').filter(
        (target) => !/^(?:postgresql|redis|simulators) /.test(target),
      );
      const needed = [...calls.map((peer) => `${peer} 9091`), ...forwards.map((peer) => `${peer} 8081`)];
      expect(out.sort()).toEqual(needed.sort());
      const callers = present.filter((one) => one.calls.includes(process)).map((one) => `${one.name} 9091`);
      const forwarders = present.filter((one) => one.forwards.includes(process)).map((one) => `${one.name} 8081`);
      const operators = ['guildctl 9090', ...(holds.includes('admin') ? ['guildctl 9091'] : [])];
      const accepted = connections(all, process, 'ingress').filter((source) => source !== 'test 8080');
      expect(accepted.sort()).toEqual([...callers, ...forwarders, ...operators].sort());
      expect(listens.includes('public') || callers.length + forwarders.length > 0).toBe(true);
    }
  },
);
