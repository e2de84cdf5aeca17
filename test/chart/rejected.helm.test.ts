import { expect, test } from 'vitest';
import { type Json, valueSet } from './chart.ts';
import { helms, render } from './helm.ts';

const REJECTED: [string, string, RegExp][] = [
  ['an unknown value', '{"evaluation":{"enabld":true}}', /enabld/],
  ['an unknown service', '{"services":{"lokup":{}}}', /lokup/],
  ['a variable of another service', '{"services":{"auth":{"config":{"MAX_IN_FLIGHT":1}}}}', /MAX_IN_FLIGHT/],
  ['a number as a text', '{"defaults":{"replicas":"2"}}', /replicas/],
  ['a text as a flag', '{"redis":{"enabled":"no"}}', /enabled/],
  ['an unknown level of logs', '{"logLevel":"loud"}', /logLevel/],
  ['a label that the chart sets, on objects', '{"commonLabels":{"app.kubernetes.io/name":"a"}}', /commonLabels/],
  ['the label with the version of the chart', '{"commonLabels":{"helm.sh/chart":"a"}}', /commonLabels/],
  ['a label that the chart sets, on pods', '{"podLabels":{"app.kubernetes.io/component":"a"}}', /podLabels/],
  ['a label of the chart itself', '{"commonLabels":{"guild-data/metrics":"false"}}', /commonLabels/],
  ['a stop that is shorter than the wait before it', '{"stopSeconds":6,"drainDelaySeconds":6}', /stopSeconds/],
  ['a name that is none of a Service', '{"fullnameOverride":"a.b"}', /fullnameOverride/],
  ['a host that is none', '{"ingress":{"host":"UPPER_bad"}}', /host/],
  ['a certificate for no host', '{"ingress":{"tlsSecret":"a"}}', /ingress\.host/],
  ['a budget that lets no node be drained', '{"defaults":{"maxUnavailable":0}}', /maxUnavailable/],
  ['an Ingress without trusted proxies', '{"ingress":{"enabled":true}}', /trustedProxies/],
  [
    'an HTTPRoute without trusted proxies',
    '{"httpRoute":{"enabled":true,"parentRefs":[{"name":"a"}]}}',
    /trustedProxies/,
  ],
  ['a database of one’s own in evaluation mode', '{"database":{"host":"db"}}', /database\.host/],
  ['database hosts of one’s own in evaluation mode', '{"database":{"hosts":["a","b"]}}', /database\.hosts/],
  ['a database host that is none', '{"database":{"hosts":["a b"]}}', /hosts/],
  ['a port that is not of evaluation’s database', '{"database":{"port":6432}}', /database\.port/],
  ['a CA for evaluation’s database', '{"database":{"tls":{"caSecret":{"name":"ca"}}}}', /database\.tls\.caSecret/],
  ['a CA for evaluation’s Redis', '{"redis":{"tls":{"caSecret":{"name":"ca"}}}}', /redis\.tls\.caSecret/],
  [
    'a real chat platform with the token of the simulated one',
    '{"platforms":{"chatApiUrl":"https://chat.example"}}',
    /existingSecret/,
  ],
  [
    'a real game platform together with simulated ones',
    '{"platforms":{"gameApisUrl":"https://game.example"}}',
    /platforms\.gameApisUrl/,
  ],
  ['a nameOverride that is no label', '{"nameOverride":"a.b"}', /nameOverride/],
  ['a nameOverride that is too long', `{"nameOverride":"${'a'.repeat(41)}"}`, /nameOverride/],
  ['CPU in an unknown unit', '{"defaults":{"resources":{"requests":{"cpu":"500mi"}}}}', /cpu/],
  ['memory in thousandths of a byte', '{"migrate":{"resources":{"limits":{"memory":"256m"}}}}', /memory/],
  ['more connections than a process accepts', '{"defaults":{"config":{"PG_POOL_MAX":101}}}', /PG_POOL_MAX/],
  ['a ratio above 1', '{"services":{"gateway":{"config":{"ACCESS_LOG_SAMPLE_RATIO":1.5}}}}', /ACCESS_LOG_SAMPLE_RATIO/],
  ['no connections', '{"services":{"auth":{"config":{"PG_POOL_MAX":0}}}}', /PG_POOL_MAX/],
  [
    'a retention of audit entries that is too short',
    '{"services":{"auth":{"config":{"RETENTION_AUDIT_SECONDS":1}}}}',
    /RETENTION_AUDIT/,
  ],
  [
    'a list with an invalid contact',
    '{"services":{"gateway":{"config":{"SECURITY_CONTACT":"mailto:a,b"}}}}',
    /SECURITY_CONTACT/,
  ],
  ['an unknown scope', '{"services":{"gateway":{"config":{"BINDINGS_WRITE_SCOPE":"all"}}}}', /BINDINGS_WRITE_SCOPE/],
  ['a trusted proxy that is no network', '{"gateway":{"trustedProxies":["10.0.0.0/33"]}}', /trustedProxies/],
  ['a network of webhooks that is none', '{"webhooks":{"allowedNetworks":["010.0.0.0/8"]}}', /allowedNetworks/],
  ['a URL with a query', '{"gateway":{"publicUrl":"https://a.example/?b"}}', /publicUrl/],
  ['a drain delay above 120 seconds', '{"drainDelaySeconds":121,"stopSeconds":200}', /drainDelaySeconds/],
  [
    'a stop without time for the requests in flight',
    '{"drainDelaySeconds":120,"stopSeconds":136}',
    /stopSeconds must be at least 137/,
  ],
  [
    'a LoadBalancer that hides the addresses of clients',
    '{"gateway":{"service":{"type":"LoadBalancer"}}}',
    /externalTrafficPolicy must be Local/,
  ],
  [
    'a NodePort that hides the addresses of clients',
    '{"gateway":{"service":{"type":"NodePort","externalTrafficPolicy":"Cluster"}}}',
    /gateway\.service\.externalTrafficPolicy/,
  ],
  [
    'a NodePort of the console that hides them',
    '{"console":{"enabled":true,"service":{"type":"NodePort"}}}',
    /console\.service\.externalTrafficPolicy/,
  ],
  [
    'a policy for traffic that does not come from outside',
    '{"gateway":{"service":{"externalTrafficPolicy":"Local"}}}',
    /requires the type/,
  ],
  ['further hosts without a first one', '{"ingress":{"extraHosts":[{"host":"a.example"}]}}', /ingress\.host/],
  ['a timeout that is shorter than a poll', '{"httpRoute":{"timeouts":{"requestSeconds":25}}}', /requestSeconds/],
  ['a Route without trusted proxies', '{"route":{"enabled":true}}', /trustedProxies/],
  [
    'a Route with a certificate but without TLS',
    '{"route":{"tls":{"termination":"","certificateSecret":"a"}}}',
    /route\.tls\.termination/,
  ],
  [
    'a CA of a Secret and of a ConfigMap',
    '{"webhooks":{"caSecret":{"name":"a"},"caConfigMap":{"name":"b"}}}',
    /only one of them/,
  ],
  ['a proxy for simulated platforms', '{"platforms":{"proxySecret":{"name":"a"}}}', /platforms\.proxySecret/],
  [
    'a proxy for the OpenID provider that is not configured',
    '{"console":{"enabled":true,"oidc":{"throughProxy":true}}}',
    /throughProxy/,
  ],
  [
    'a CA in a ConfigMap for evaluation’s Redis',
    '{"redis":{"tls":{"caConfigMap":{"name":"ca"}}}}',
    /redis\.tls\.caConfigMap/,
  ],
  ['a Secret for evaluation’s Redis', '{"redis":{"existingSecret":"a"}}', /redis\.existingSecret/],
  [
    'credentials for evaluation’s database',
    '{"database":{"credentials":{"auth":{"name":"a"}}}}',
    /database\.credentials/,
  ],
  [
    'an owner of the database that is the role of a service',
    '{"database":{"owner":"guild_data_auth","roles":{"prefix":"guild_data_"}}}',
    /database\.owner guild_data_auth is also the role of a service/,
  ],
  ['credentials of an unknown role', '{"database":{"credentials":{"gateway":{"name":"a"}}}}', /gateway/],
  ['a wait of every new pod that is too long', '{"startStepSeconds":6}', /startStepSeconds/],
  ['a Route for all hosts of a domain', '{"route":{"host":"*.example.com"}}', /route/],
  [
    'a timeout of a Route that ends polls',
    '{"gateway":{"trustedProxies":["10.0.0.0/8"]},"route":{"enabled":true,"annotations":{"haproxy.router.openshift.io/timeout":"25s"}}}',
    /route\.annotations: a timeout of 25s/,
  ],
  ['one key for two secrets', '{"secrets":{"keys":{"redisUrl":"chat-bot-token"}}}', /secrets\.keys/],
  ['a key of evaluation’s own Secret', '{"secrets":{"keys":{"gameApiKey":"auth-password"}}}', /secrets\.keys/],
  ['a port of nodes inside the cluster', '{"gateway":{"service":{"nodePort":30080}}}', /nodePort requires/],
  [
    'a class of load balancers without one',
    '{"gateway":{"service":{"type":"NodePort","externalTrafficPolicy":"Local","loadBalancerClass":"a"}}}',
    /loadBalancerClass requires/,
  ],
  [
    'a timeout of the backend that is longer than that of the request',
    '{"httpRoute":{"timeouts":{"requestSeconds":40,"backendRequestSeconds":60}}}',
    /backendRequestSeconds/,
  ],
  ['a redirect of all requests', '{"httpRoute":{"filters":[{"type":"RequestRedirect"}]}}', /RequestRedirect/],
  ['TLS without certificates', '{"tls":{"mode":"secret"}}', /tls\.existingSecret/],
  ['fewer at most than at least', '{"defaults":{"autoscaling":{"minReplicas":5,"maxReplicas":4}}}', /minReplicas/],
];

test.each(REJECTED)('%s is rejected with a message that names it', async (_, set, message) => {
  for (const helm of helms()) {
    await expect(render({ files: [valueSet('evaluation')], values: JSON.parse(set) as Json, helm })).rejects.toThrow(
      message,
    );
  }
});

test('outside evaluation mode, nothing is rendered without a Secret and a database', async () => {
  await expect(render({})).rejects.toThrow(/secrets\.existingSecret[\s\S]*database\.host/);
});

test('the owner of the database may have the name of a role that no process has', async () => {
  const database = { owner: 'guild_data_gateway', roles: { prefix: 'guild_data_' } };
  const all = await render({ files: [valueSet('evaluation')], values: { database } });
  expect(JSON.stringify(all)).toContain('guild_data_gateway');
});

test('a database has one address', async () => {
  const database = { host: 'a', addressSecret: { name: 'b' } };
  const rejected = render({ files: [valueSet('production')], values: { database } });
  await expect(rejected).rejects.toThrow(/database\.host must be empty/);
});

test.each(['db:6432', 'fd00::1', '[fd00::1]:5432', 'a b', 'db/guild'])(
  'the database host %s is rejected, because the URL gets the port from another value',
  async (host) => {
    for (const database of [{ host }, { direct: { host } }] as Json[]) {
      const rejected = render({ files: [valueSet('production')], values: { database } });
      await expect(rejected).rejects.toThrow(/host/);
    }
  },
);

test('the database host may be an IPv6 address in brackets', async () => {
  const database = { host: '[fd00::1]', direct: { host: '[fd00::2]', port: 6432 } };
  const all = await render({ files: [valueSet('production')], values: { database } });
  const hosts = [...JSON.stringify(all).matchAll(/postgres:\/\/[^@"]+@([^/"]+)\//g)].map(([, host]) => host);
  expect(new Set(hosts)).toEqual(new Set(['[fd00::1]:5432', '[fd00::2]:6432']));
});

test.each(['caSecret', 'caConfigMap'])('a %s of a database without TLS is rejected', async (ca) => {
  const database = { host: 'db', tls: { mode: 'disable', [ca]: { name: 'ca' } } };
  await expect(render({ values: { secrets: { existingSecret: 'own' }, database } })).rejects.toThrow(
    /must be empty with database\.tls\.mode disable/,
  );
});

test.each<[string, Json]>([
  ['Local', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }],
  ['Local', { type: 'NodePort', externalTrafficPolicy: 'Local' }],
])('with externalTrafficPolicy %s a Service of %j is accepted', async (_, service) => {
  const all = await render({ files: [valueSet('evaluation')], values: { gateway: { service } } });
  const found = all.find(({ kind, metadata }) => kind === 'Service' && metadata.name.endsWith('-gateway'));
  expect(found?.spec).toMatchObject(service as object);
});

test.each<[string, Json]>([
  ['NodePort behind a trusted proxy', { gateway: { service: { type: 'NodePort' }, trustedProxies: ['10.0.0.0/8'] } }],
  ['drain delay of 120 seconds', { drainDelaySeconds: 120, stopSeconds: 137 }],
  [
    'number of cores',
    { defaults: { resources: { requests: { cpu: 0.5, memory: '1.5Gi' }, limits: { memory: '2Gi' } } } },
  ],
  ['device', { defaults: { resources: { limits: { 'example.com/device': 1 } } } }],
  ['audit log without an end', { services: { auth: { config: { RETENTION_AUDIT_SECONDS: 0 } } } }],
  [
    'list of contacts',
    { services: { gateway: { config: { SECURITY_CONTACT: 'mailto:a@b.example, https://c.example' } } } },
  ],
  ['timeout of the Gateway', { httpRoute: { timeouts: { requestSeconds: null } } }],
])('a %s is accepted', async (_, values) => {
  for (const helm of helms()) expect(await render({ files: [valueSet('evaluation')], values, helm })).not.toEqual([]);
});
