import { expect, test } from 'vitest';
import { type Json, type JsonObject, valueSet } from './chart.ts';
import { render } from './helm.ts';

const withValues = (values: JsonObject) => render({ files: [valueSet('evaluation')], values });
const gateway = (own: Json): JsonObject => ({ services: { gateway: own } });
const image = (own: Json): JsonObject => ({ image: own });
const database = (...to: Json[]): JsonObject => ({ networkPolicy: { database: { to } } });
const MOUNT = { name: 'extra', mountPath: '/extra' };
const VOLUME = { name: 'extra', emptyDir: {} };
const CONSOLE = { enabled: true, publicUrl: 'https://a.example' };
const NODE_PORT = { type: 'NodePort', externalTrafficPolicy: 'Local', nodePort: 30080 };
const PROXIED = { trustedProxies: ['10.0.0.0/8'] };

test.each<[string, JsonObject, RegExp]>([
  ['a registry with a slash at its end', image({ registry: 'registry.example/' }), /registry/],
  ['a registry with a scheme', image({ registry: 'https://registry.example' }), /registry/],
  ['a registry of a parent chart with a scheme', { global: { imageRegistry: 'https://a.example' } }, /imageRegistry/],
  ['a repository in upper case', image({ repository: 'Guild/Data' }), /repository/],
  ['a repository with a tag', image({ repository: 'guild-data:1' }), /repository/],
  ['a tag with a blank', image({ tag: '1 2' }), /tag/],
  ['a tag that begins with a dot', image({ tag: '.1' }), /tag/],
])('the image reference with %s cannot be pulled, and is rejected', async (_, values, message) => {
  await expect(withValues(values)).rejects.toThrow(message);
});

test.each([
  { registry: 'registry.example:5000/team/images', repository: 'guild-data', tag: '1.2.3-rc.1_a' },
  { registry: '', repository: 'registry.example:5000/team/guild__data', tag: '' },
  { registry: 'localhost:5000', repository: 'a/b-c/d.e', tag: 'LATEST' },
])('the image reference %j is accepted', async (reference) => {
  expect(await withValues(image(reference))).not.toEqual([]);
});

test.each<[string, JsonObject, RegExp]>([
  [
    'more memory than the limit',
    gateway({ resources: { requests: { memory: '1Gi' }, limits: { memory: '800M' } } }),
    /resources of gateway: the request of memory, 1Gi/,
  ],
  [
    'more CPU than the limit',
    { defaults: { resources: { requests: { cpu: 1.5 }, limits: { cpu: '1400m' } } } },
    /resources of auth: the request of cpu/,
  ],
  ['more memory for the migration', { migrate: { resources: { limits: { memory: '100Mi' } } } }, /of migrate/],
  ['a variable whose name is none', gateway({ extraEnv: [{ name: 'A B', value: '1' }] }), /extraEnv/],
  [
    'a variable with two sources',
    gateway({ extraEnv: [{ name: 'A', value: '1', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }] }),
    /extraEnv/,
  ],
  ['a misspelt toleration', { defaults: { tolerations: [{ key: 'a', opperator: 'Exists' }] } }, /opperator/],
  ['an unknown effect of a toleration', { migrate: { tolerations: [{ effect: 'NoRun' }] } }, /tolerations/],
  [
    'one port of nodes for two Services',
    { console: { enabled: true, service: NODE_PORT }, gateway: { service: NODE_PORT } },
    /console\.service\.nodePort must differ/,
  ],
  ['a number as a variable', gateway({ extraEnv: [{ name: 'A', value: 1 }] }), /extraEnv/],
  [
    'a variable twice',
    gateway({
      extraEnv: [
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
      ],
    }),
    /two variables in extraEnv .* A/,
  ],
  ['a mount without its volume', gateway({ extraVolumeMounts: [MOUNT] }), /extraVolumeMounts names the volume extra/],
  [
    'two mounts at one path',
    gateway({ extraVolumes: [VOLUME], extraVolumeMounts: [MOUNT, { ...MOUNT }] }),
    /the container gateway has two volumes at \/extra/,
  ],
  ['a volume twice', { defaults: { extraVolumes: [VOLUME, VOLUME] } }, /two volumes .* extra/],
  [
    'a sidecar with the name of the service',
    gateway({ sidecars: [{ name: 'gateway', image: 'a' }] }),
    /two containers/,
  ],
  [
    'a sidecar with the name of an init container',
    gateway({ sidecars: [{ name: 'a', image: 'a' }], initContainers: [{ name: 'a', image: 'a' }] }),
    /two containers/,
  ],
  ['a sidecar without an image', gateway({ sidecars: [{ name: 'shipper' }] }), /image/],
  [
    'a hook that is longer than the stop',
    gateway({ lifecycle: { preStop: { sleep: { seconds: 33 } } } }),
    /lifecycle of gateway sleeps for 33 seconds/,
  ],
  [
    'a certificate for less than an hour',
    { tls: { mode: 'certManager', issuerRef: { name: 'a' }, duration: '59m59s' } },
    /tls\.duration must be at least 1h/,
  ],
  ['a network that is none', database({ ipBlock: { cidr: '10.0.0.0/99' } }), /cidr/],
  ['an address instead of a network', database({ ipBlock: { cidr: '10.0.0.1' } }), /cidr/],
  ['an empty peer', database({}), /database\/to\/0/],
  ['a network together with pods', database({ ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }), /database\/to\/0/],
  ['a misspelt selector of callers', { networkPolicy: { callers: [{ namespaceSelectr: {} }] } }, /namespaceSelectr/],
  ['a misspelt part of a selector', database({ podSelector: { matchLabel: {} } }), /matchLabel/],
  [
    'the host of the gateway’s URL as console',
    { console: CONSOLE, gateway: { publicUrl: 'https://a.example' } },
    /own/,
  ],
  [
    'the host of the gateway’s Ingress as console',
    { console: CONSOLE, gateway: PROXIED, ingress: { enabled: true, host: 'a.example' } },
    /the console has the host a\.example of the gateway/,
  ],
  [
    'a further host of the gateway’s Ingress as console',
    {
      console: CONSOLE,
      gateway: PROXIED,
      ingress: { enabled: true, host: 'b.example', extraHosts: [{ host: 'a.example' }] },
    },
    /the console has the host a\.example of the gateway/,
  ],
  [
    'a host twice',
    { ingress: { host: 'b.example', extraHosts: [{ host: 'a.example' }, { host: 'a.example' }] } },
    /ingress has the host a\.example twice/,
  ],
  [
    'the first host once more',
    { ingress: { host: 'b.example', extraHosts: [{ host: 'b.example' }] } },
    /ingress has the host b\.example twice/,
  ],
])('%s is rejected with a message that names it', async (_, values, message) => {
  await expect(withValues(values)).rejects.toThrow(message);
});

test.each<[string, JsonObject]>([
  [
    'equal amounts in different units',
    gateway({ resources: { requests: { memory: '1Gi' }, limits: { memory: '1024Mi' } } }),
  ],
  ['a certificate for an hour', { tls: { mode: 'certManager', issuerRef: { name: 'a' }, duration: '30m1800s' } }],
  ['peers of each kind', database({ ipBlock: { cidr: 'fd00::/8', except: ['fd00:1::/32'] } }, { podSelector: {} })],
  ['a console on another port', { console: CONSOLE, gateway: { publicUrl: 'https://a.example:8443' } }],
])('%s: accepted', async (_, values) => {
  expect(await withValues(values)).not.toEqual([]);
});
