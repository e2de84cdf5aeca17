import { z } from 'zod';
import { group } from './build.ts';
import { duration, flag, objects, ports, strings, text } from './common.ts';
import { labels, peers } from './kubernetes.ts';

const to = { to: peers };
const peersAndPorts = group({ ...to, ports: ports.min(1) });

/** What other parts of the cluster read: NetworkPolicies, and the objects of the Prometheus operator and of Grafana. */
export const cluster = {
  networkPolicy: group({
    enabled: flag,
    callers: peers,
    metrics: peers,
    dns: peersAndPorts,
    database: group({ ...to, ports }),
    redis: peersAndPorts,
    platforms: peersAndPorts,
    oidc: peersAndPorts,
    tracing: group({ ...to, ports }),
    webhooks: group(to),
  }),
  monitoring: group({
    annotations: flag,
    serviceMonitor: group({
      enabled: flag,
      labels,
      interval: duration,
      relabelings: objects,
      metricRelabelings: objects,
    }),
    cluster: text,
    rules: group({
      enabled: flag,
      labels,
      runbooksAt: z.string().regex(/^(https?:\/\/[^\s#'"]+\/)?$/),
    }),
    dashboards: group({ enabled: flag, labels, annotations: strings }),
  }),
};
