import { expect, test } from 'vitest';
import { hasConsole, type Json, type JsonObject, VALUE_SETS, valueSet } from './chart.ts';
import { type Manifest, podsOf, render } from './helm.ts';

const PROVIDERS = /^(?:CONSOLE_|CHAT_OAUTH_|OIDC_)/;
const SERVICES = ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'];

const componentOf = ({ metadata }: Manifest) => metadata.labels?.['app.kubernetes.io/component'];
const ofKind = (all: readonly Manifest[], kind: string, component: string) =>
  all.find((one) => one.kind === kind && componentOf(one) === component);

/** The variables of the containers of a component. */
function variablesOf(all: readonly Manifest[], component: string): Record<string, Json> {
  const deployment = ofKind(all, 'Deployment', component);
  const pods = deployment === undefined ? [] : podsOf(deployment);
  const containers = pods.flatMap((pod) => pod['containers'] as JsonObject[]);
  const given = containers.flatMap((one) => (one['env'] ?? []) as JsonObject[]);
  return Object.fromEntries(given.map(({ name, value, valueFrom }) => [name, value ?? valueFrom ?? null]));
}

type Rule = { to?: JsonObject[]; from?: JsonObject[]; ports: { port: number }[] };

/** The rules of a component's NetworkPolicy: the peers and ports of each. */
function rulesOf(all: readonly Manifest[], component: string, direction: 'ingress' | 'egress') {
  const rules = (ofKind(all, 'NetworkPolicy', component)?.['spec'][direction] ?? []) as Rule[];
  return rules.map(({ to, from, ports }) => ({
    peers: (to ?? from ?? []).flatMap((peer) => peersIn(peer)),
    ports: [...new Set(ports.map(({ port }) => port))],
  }));
}

function peersIn({ podSelector, namespaceSelector, ipBlock }: JsonObject): Json[] {
  const chosen = podSelector as { matchExpressions?: { values: string[] }[] } | undefined;
  return chosen?.matchExpressions?.flatMap(({ values }) => values) ?? [namespaceSelector ?? ipBlock ?? null];
}

const namespace = (name: string) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } });

test.each(VALUE_SETS.filter((name) => !hasConsole(name)))(
  'with the values %s, which do not enable it, no object belongs to the console and no process knows of it',
  async (name) => {
    const all = await render({ files: [valueSet(name)] });
    // Rules and dashboards are for all releases that a Prometheus scrapes, also for those with a console.
    const own = all.filter((one) => componentOf(one) !== 'monitoring');
    expect(own.filter((one) => componentOf(one) === 'console' || one.metadata.name.includes('console'))).toEqual([]);
    const variables = [...SERVICES, 'gateway', 'guildctl'].flatMap((one) => Object.keys(variablesOf(all, one)));
    expect(variables.filter((variable) => PROVIDERS.test(variable))).toEqual([]);
    const kinds = ['Deployment', 'Service', 'NetworkPolicy', 'Certificate', 'StatefulSet'];
    const objects = all.filter(({ kind }) => kinds.includes(kind));
    expect(objects.filter((one) => JSON.stringify(one).includes('console'))).toEqual([]);
  },
);

test('the address of the API has no path if there is a console, which needs an origin', async () => {
  const values = { gateway: { publicUrl: 'https://a.example/guild-data' } };
  await expect(render({ files: [valueSet('console')], values })).rejects.toThrow('gateway.publicUrl must have no path');
  await expect(render({ files: [valueSet('production')], values })).resolves.not.toHaveLength(0);
});

test('settings of a console that is not enabled change nothing', async () => {
  const settings = { publicUrl: 'http://x', ingress: { enabled: true }, oidc: { clientId: 'half' } };
  const files = [valueSet('production')];
  expect(await render({ files, values: { console: settings } })).toEqual(await render({ files }));
});

test('the console reaches the gRPC port of auth, the HTTP ports of the services, Redis and DNS, and nothing else', async () => {
  const all = await render({ files: [valueSet('console')] });
  expect(rulesOf(all, 'console', 'egress')).toEqual([
    { peers: [namespace('kube-system')], ports: [53] },
    { peers: ['auth'], ports: [9091] },
    { peers: SERVICES, ports: [8081] },
    { peers: [], ports: [6379] },
  ]);
});

test('only console.callers reach the public port of the console', async () => {
  const all = await render({ files: [valueSet('console')] });
  expect(rulesOf(all, 'console', 'ingress')).toEqual([
    { peers: [namespace('ingress-nginx')], ports: [8080] },
    { peers: [namespace('monitoring')], ports: [9090] },
    { peers: ['guildctl'], ports: [9090] },
  ]);
});

test('the console has no database password, no provider secret and no bot token', async () => {
  const variables = Object.entries(variablesOf(await render({ files: [valueSet('console')] }), 'console'));
  const secrets = variables.filter(([, value]) => typeof value === 'object').map(([name]) => name);
  expect(secrets.sort()).toEqual(['INTERNAL_KEYS', 'REDIS_URL']);
});

test('each provider opens its own way out of auth, and a provider that is not configured opens none', async () => {
  const outside = async (console: Json) => {
    const all = await render({ files: [valueSet('console')], values: { console } });
    // Before them: DNS, the other services over gRPC and over HTTP, and the database.
    return rulesOf(all, 'auth', 'egress').slice(4);
  };
  const internet = [{ cidr: '0.0.0.0/0', except: expect.any(Array) }];
  const none = { clientId: '', clientSecret: { name: '' } };
  expect(await outside({})).toEqual([
    { peers: internet, ports: [443] },
    { peers: [{ cidr: '10.5.0.0/24' }], ports: [443] },
  ]);
  expect(await outside({ oauth: none })).toEqual([{ peers: [{ cidr: '10.5.0.0/24' }], ports: [443] }]);
  expect(await outside({ oidc: { ...none, issuer: '' } })).toEqual([{ peers: internet, ports: [443] }]);
  expect(await outside({ oauth: none, oidc: { ...none, issuer: '' } })).toEqual([]);
});

test('in evaluation mode the simulated providers are configured in auth and in the simulators alike', async () => {
  const all = await render({ files: [valueSet('evaluation-console')] });
  const simulators = ofKind(all, 'StatefulSet', 'simulators') as Manifest;
  const [container] = podsOf(simulators).flatMap((pod) => pod['containers'] as JsonObject[]);
  const environment = (container?.['env'] ?? []) as JsonObject[];
  const given = Object.fromEntries(environment.map(({ name, value }) => [name, value]));
  const auth = variablesOf(all, 'auth');
  expect(auth).toMatchObject({
    CONSOLE_URL: 'http://127.0.0.1:8090',
    OIDC_ISSUER: given['OIDC_SIMULATOR_ISSUER'],
    CHAT_OAUTH_AUTHORIZE_URL: 'http://127.0.0.1:8082/oauth2/authorize',
  });
  expect(variablesOf(all, 'console')['CONSOLE_URL']).toBe(auth['CONSOLE_URL']);
  expect(rulesOf(all, 'auth', 'egress').at(-1)).toEqual({ peers: ['simulators'], ports: [8082, 8085] });
  expect(rulesOf(all, 'simulators', 'ingress')).toEqual([
    { peers: ['activity', 'auth', 'bindings', 'members', 'moderation'], ports: [8082, 8083, 8085] },
  ]);
});

const secret = { name: 'a' };

test.each<[string, string, Json, RegExp]>([
  ['no address', 'console', { publicUrl: '' }, /console\.publicUrl must be the address/],
  ['an address without TLS', 'console', { publicUrl: 'http://console.example' }, /must begin with https/],
  ['an address with a path', 'console', { publicUrl: 'https://console.example/a' }, /publicUrl/],
  ['evaluation at an address without TLS', 'evaluation-console', { publicUrl: 'http://a.example' }, /https/],
  ['a chat application without a secret', 'console', { oauth: { clientSecret: { name: '' } } }, /console\.oauth/],
  ['a chat secret without an application', 'console', { oauth: { clientId: '' } }, /console\.oauth/],
  ['an OpenID issuer that is no URL', 'console', { oidc: { issuer: 'foo' } }, /issuer/],
  ['an OpenID issuer with a query', 'console', { oidc: { issuer: 'https://x?y' } }, /issuer/],
  ['an OpenID issuer without a client', 'console', { oidc: { clientId: '' } }, /console\.oidc/],
  ['an OpenID client without an issuer', 'console', { oidc: { issuer: '' } }, /console\.oidc/],
  [
    'a real application on a simulated platform',
    'evaluation-console',
    { oauth: { clientId: '1', clientSecret: secret } },
    /simulated/,
  ],
  ['an Ingress without trusted proxies', 'console', { trustedProxies: [] }, /console\.trustedProxies/],
  ['a certificate for no host', 'console', { ingress: { host: '' } }, /console\.ingress\.host/],
  ['a route without a Gateway', 'console', { httpRoute: { parentRefs: [] } }, /console\.httpRoute\.parentRefs/],
])('a console with %s is rejected with a message that names the value', async (_, set, console, message) => {
  await expect(render({ files: [valueSet(set)], values: { console } })).rejects.toThrow(message);
});
