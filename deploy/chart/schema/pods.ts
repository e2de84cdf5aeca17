import { z } from 'zod';
import { gatewayVariables } from '#gateway/config.ts';
import { KEY_HOLDERS } from '#kit/security/purposes.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { migrateVariables } from '../../migrate.ts';
import { group, named, orEmpty } from './build.ts';
import { bytes, cpuAboveZero, duration, flag, imageFields, name, objects, resources, text } from './common.ts';
import * as kubernetes from './kubernetes.ts';
import { configOfAll, configOfService, valueOf } from './variables.ts';

const { annotations, labels, object } = kubernetes;

/** Each gateway divides the limits by the number of gateways while Redis is unavailable. */
const { maximum: maxReplicas } = z.toJSONSchema(gatewayVariables.GATEWAY_REPLICAS, {
  unrepresentable: 'any',
}) as { maximum: number };
const atLeastOne = z.int().min(1).max(maxReplicas);

/** Where a pod runs, and its labels. */
const scheduling = {
  nodeSelector: kubernetes.nodeSelector,
  tolerations: kubernetes.tolerations,
  affinity: object,
  priorityClassName: name,
  topologySpreadConstraints: kubernetes.topologySpread,
  podLabels: labels,
  podAnnotations: annotations,
};

/** What values may add to a pod. */
const extensions = {
  extraEnv: kubernetes.variables,
  envFrom: kubernetes.variableSources,
  extraVolumes: kubernetes.volumes,
  extraVolumeMounts: kubernetes.volumeMounts,
  initContainers: kubernetes.containers,
  sidecars: kubernetes.containers,
};

const deployment = { deploymentLabels: labels, deploymentAnnotations: annotations };

const autoscaling = named(
  'autoscaling',
  group({
    enabled: flag,
    external: flag,
    minReplicas: atLeastOne,
    maxReplicas: atLeastOne,
    cpuPerPod: cpuAboveZero,
    podMetrics: kubernetes.targets,
    metrics: objects,
    behavior: group({ scaleUp: object, scaleDown: object }),
  }),
);

/** The fields of `defaults` that a service may override. */
const settings = {
  replicas: z.int().min(0).max(maxReplicas),
  resources,
  autoscaling,
  maxUnavailable: kubernetes.maxUnavailable,
  strategy: kubernetes.strategy,
  minReadySeconds: z.int().min(0).max(600),
  spread: flag,
  ...scheduling,
  ...extensions,
  ...deployment,
  preStopSeconds: z.int().min(0).max(600),
  lifecycle: object,
  readinessGates: kubernetes.readinessGates,
};

const services = DEPLOYABLES.map(({ name: service }) => [
  service,
  group({ ...settings, config: configOfService(service) }),
]);

const server = { resources, ...scheduling };

export const pods = {
  global: kubernetes.globals,
  commonLabels: labels,
  podLabels: labels,
  podAnnotations: annotations,
  image: group({ ...imageFields, pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']) }),
  imagePullSecrets: z.array(z.strictObject({ name: z.string().min(1) })),
  restartOnSecretChange: flag,
  defaults: group({ ...settings, config: configOfAll }),
  services: group(Object.fromEntries(services)),
  // Every new pod waits, the last service six times as long.
  startStepSeconds: z.int().min(0).max(5),
  runAsUser: z.union([z.int().min(1), z.null()]),
  tls: group({
    mode: z.enum(['none', 'secret', 'certManager']),
    existingSecret: name,
    secrets: group(Object.fromEntries(KEY_HOLDERS.map((holder) => [holder, name]))),
    issuerRef: group({ name: text, kind: text, group: text }),
    duration,
  }),
  migrate: group({
    resources,
    waitSeconds: valueOf(migrateVariables.MIGRATE_WAIT_SECONDS),
    lockWaitSeconds: valueOf(migrateVariables.MIGRATE_LOCK_WAIT_SECONDS),
    deadlineSeconds: z.int().min(1),
    ...scheduling,
    ...extensions,
  }),
  guildctl: group({ enabled: flag, resources, ...scheduling, ...extensions, ...deployment }),
  serviceAccount: group({ create: flag, name, annotations }),
  evaluation: group({
    enabled: flag,
    postgresql: group({
      image: group(imageFields),
      storage: group({ size: orEmpty(bytes), className: name }),
      ...server,
    }),
    redis: group({ image: group(imageFields), ...server }),
    simulators: group(server),
  }),
};
