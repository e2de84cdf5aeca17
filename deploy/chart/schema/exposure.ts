import { z } from 'zod';
import { gatewayVariables } from '#gateway/config.ts';
import { MAX_WAIT_SECONDS } from '#proto/rest/schemas.ts';
import { authVariables } from '#services/auth/config.ts';
import { consoleVariables } from '#services/console/config.ts';
import { group, json, named, orEmpty } from './build.ts';
import { flag, hostName, keyOf, name, objects, plainHostName, port, strings, text } from './common.ts';
import { peers } from './kubernetes.ts';
import { itemOf, valueOf } from './variables.ts';

const service = named(
  'publicService',
  group({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']),
    port,
    nodePort: z.union([port, z.null()]),
    annotations: strings,
    loadBalancerClass: text,
    externalTrafficPolicy: z.enum(['', 'Cluster', 'Local']),
  }),
);

const ingress = named(
  'ingress',
  group({
    enabled: flag,
    className: name,
    annotations: strings,
    host: orEmpty(hostName),
    tlsSecret: name,
    extraHosts: z.array(z.strictObject({ host: hostName, tlsSecret: name.optional() })),
  }),
);

/** Seconds; 0 for no timeout, null for that of the Gateway. Any other timeout must be longer than a poll may wait. */
const timeout = json({ type: ['integer', 'null'], anyOf: [{ enum: [0, null] }, { minimum: MAX_WAIT_SECONDS + 5 }] });
const httpRoute = named(
  'httpRoute',
  group({
    enabled: flag,
    annotations: strings,
    parentRefs: objects,
    hostnames: z.array(hostName),
    filters: objects,
    timeouts: group({ requestSeconds: timeout, backendRequestSeconds: timeout }),
  }),
);

const route = named(
  'route',
  group({
    enabled: flag,
    annotations: strings,
    host: orEmpty(plainHostName),
    tls: group({
      termination: z.enum(['', 'edge']),
      insecureEdgeTerminationPolicy: z.enum(['None', 'Allow', 'Redirect']),
      certificateSecret: name,
    }),
  }),
);

export const exposure = {
  gateway: group({
    publicUrl: orEmpty(valueOf(gatewayVariables.PUBLIC_URL)),
    trustedProxies: z.array(itemOf(gatewayVariables.TRUSTED_PROXIES)),
    service,
  }),
  ingress,
  httpRoute,
  route,
  console: group({
    enabled: flag,
    publicUrl: orEmpty(valueOf(consoleVariables.CONSOLE_URL)),
    trustedProxies: z.array(itemOf(consoleVariables.TRUSTED_PROXIES)),
    callers: peers,
    anyGuild: flag,
    service,
    ingress,
    httpRoute,
    route,
    oauth: group({
      clientId: text,
      clientSecret: keyOf,
      authorizeUrl: orEmpty(valueOf(authVariables.CHAT_OAUTH_AUTHORIZE_URL)),
    }),
    oidc: group({
      issuer: orEmpty(valueOf(authVariables.OIDC_ISSUER)),
      clientId: text,
      clientSecret: keyOf,
      label: valueOf(authVariables.OIDC_LABEL),
      operatorClaim: text,
      operatorValue: text,
      throughProxy: flag,
      caSecret: keyOf,
      caConfigMap: keyOf,
    }),
  }),
};
