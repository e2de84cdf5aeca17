// Parts of a pod and of a Deployment that values pass on to Kubernetes, which validates most of their content itself. Helm's regular
// expressions have no lookaround.
import { z } from 'zod';
import { gatewayVariables } from '#gateway/config.ts';
import { group, type JsonSchema, json, named } from './build.ts';
import { REGISTRY_PATTERN } from './common.ts';
import { itemSchema } from './variables.ts';

/** Any objects of Kubernetes with at least these fields. */
const objectsWith = (id: string, ...required: string[]) =>
  json({ type: 'array', items: { type: 'object', required } }, id);

export const object = z.record(z.string(), z.any());

const LABEL = '([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?';
const KEY = `([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`;
const keys: JsonSchema = { propertyNames: { type: 'string', pattern: `^${KEY}$` } };
const labelled: JsonSchema = {
  type: 'object',
  ...keys,
  additionalProperties: { type: 'string', pattern: `^${LABEL}$` },
};

export const nodeSelector = json(labelled, 'nodeSelector');
export const annotations = json({ type: 'object', ...keys, additionalProperties: { type: 'string' } }, 'annotations');
/** Labels; the chart sets those that begin with app.kubernetes.io/, helm.sh/ or guild-data/ itself. */
export const labels = json(
  { ...labelled, patternProperties: { '^(app\\.kubernetes\\.io|helm\\.sh|guild-data)/': false } },
  'labels',
);

/** An environment variable; Kubernetes accepts no number as its value, and not two sources of it. */
const variable = named(
  'variable',
  z.strictObject({
    name: z.string().regex(/^[-._a-zA-Z][-._a-zA-Z0-9]*$/),
    value: z.string().optional(),
    valueFrom: object.optional(),
  }),
  { not: { required: ['value', 'valueFrom'] } },
);
export const variables = named('variables', z.array(variable));
export const variableSources = named(
  'variableSources',
  z.array(group({ prefix: z.string(), secretRef: object, configMapRef: object })),
);
export const volumes = objectsWith('volumes', 'name');
export const volumeMounts = objectsWith('volumeMounts', 'name', 'mountPath');
export const containers = objectsWith('containers', 'name', 'image');
/** Kubernetes ignores fields that it does not know, so that a mistyped toleration would tolerate something else. */
export const tolerations = named(
  'tolerations',
  z.array(
    group({
      key: z.string(),
      operator: z.enum(['Exists', 'Equal', 'Lt', 'Gt']),
      value: z.string(),
      effect: z.enum(['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      tolerationSeconds: z.int(),
    }),
  ),
);
export const topologySpread = objectsWith('topologySpread', 'topologyKey', 'maxSkew', 'whenUnsatisfiable');
export const readinessGates = objectsWith('readinessGates', 'conditionType');

const selector = named(
  'selector',
  group({ matchLabels: json(labelled), matchExpressions: objectsWith('requirements', 'key', 'operator') }),
);
/** A network such as 10.0.0.0/8, as the processes check it. */
const cidr = json({ allOf: [itemSchema(gatewayVariables.TRUSTED_PROXIES), { pattern: '/' }] }, 'cidr');
/** A network, or pods by selectors. Kubernetes accepts neither an empty peer nor both together. */
const peer = named(
  'peer',
  group({
    ipBlock: z.strictObject({ cidr, except: z.array(cidr).optional() }),
    namespaceSelector: selector,
    podSelector: selector,
  }),
  {
    minProperties: 1,
    dependencies: {
      namespaceSelector: { not: { required: ['ipBlock'] } },
      podSelector: { not: { required: ['ipBlock'] } },
    },
  },
);
/** Peers of a NetworkPolicy: a mistyped selector would allow everybody. */
export const peers = named('peers', z.array(peer));

/** A number of pods, or a share of them such as 25%. */
const podsOrShare = (id: string, min: number) =>
  named(
    id,
    z.union([
      z.int().min(min).max(1000),
      z.string().regex(min > 0 ? /^([1-9][0-9]?|100)%$/ : /^([0-9]|[1-9][0-9]|100)%$/),
    ]),
  );
export const maxUnavailable = podsOrShare('maxUnavailable', 1);
const share = podsOrShare('share', 0);
export const strategy = named(
  'strategy',
  group({
    type: z.enum(['RollingUpdate', 'Recreate']),
    rollingUpdate: group({ maxUnavailable: share, maxSurge: share }),
  }),
);

const SUFFIX = '(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][0-9]+)?';
/** Targets of an autoscaler by the names of metrics: quantities above zero, such as 700m or 5000. */
export const targets = json(
  {
    type: 'object',
    propertyNames: { type: 'string', pattern: '^[a-zA-Z_:][a-zA-Z0-9_:]*$' },
    additionalProperties: {
      anyOf: [
        { type: 'string', pattern: `^([1-9][0-9]*(\\.[0-9]+)?|0\\.[0-9]*[1-9][0-9]*)${SUFFIX}$` },
        { type: 'number', exclusiveMinimum: 0 },
      ],
    },
  },
  'targets',
);

/** Values of a parent chart: those that this chart reads are validated, all others are let through. */
export const globals = json({
  type: 'object',
  patternProperties: {
    '^imageRegistry$': { type: 'string', pattern: REGISTRY_PATTERN },
    '^imagePullSecrets$': {
      type: 'array',
      items: {
        anyOf: [
          { type: 'string', minLength: 1 },
          { type: 'object', required: ['name'] },
        ],
      },
    },
  },
});
