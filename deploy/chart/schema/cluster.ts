import { z } from 'zod';
import { group } from './build.ts';
import { duration, flag, objects, ports, strings, text } from './common.ts';

const peers = { to: objects };
const peersAndPorts = group({ ...peers, ports: ports.min(1) });

/** What other parts of the cluster read: NetworkPolicies, and the objects of the Prometheus operator and of Grafana. */
export const cluster = {
  networkPolicy: group({
    enabled: flag,
    callers: objects,
    metrics: objects,
    dns: peersAndPorts,
    database: group({ ...peers, ports }),
    redis: peersAndPorts,
    platforms: peersAndPorts,
    oidc: peersAndPorts,
    tracing: group({ ...peers, ports }),
    webhooks: group(peers),
  }),
  monitoring: group({
    annotations: flag,
    serviceMonitor: group({
      enabled: flag,
      labels: strings,
      interval: duration,
      relabelings: objects,
      metricRelabelings: objects,
    }),
    cluster: text,
    rules: group({
      enabled: flag,
      labels: strings,
      runbooksAt: z.string().regex(/^(https?:\/\/[^\s#'"]+\/)?$/),
    }),
    dashboards: group({ enabled: flag, labels: strings, annotations: strings }),
  }),
};
