import { z } from 'zod';
import { group, json, named, orEmpty } from './build.ts';

export const flag = z.boolean();
export const text = z.string();
export const port = z.int().min(1).max(65_535);
export const ports = z.array(port);

/** The name of an object in Kubernetes; empty if there is none. */
export const name = named(
  'name',
  z
    .string()
    .regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/)
    .max(253),
);
/** A part of the names of Services, which leaves room for their suffixes. */
export const label = named(
  'label',
  z
    .string()
    .regex(/^([a-z]([-a-z0-9]*[a-z0-9])?)?$/)
    .max(40),
);
const HOST_NAME = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
export const plainHostName = named(
  'plainHostName',
  z
    .string()
    .regex(new RegExp(`^${HOST_NAME}$`))
    .max(253),
);
/** A host name that may begin with `*.`. */
export const hostName = named(
  'hostName',
  z
    .string()
    .regex(new RegExp(`^(\\*\\.)?${HOST_NAME}$`))
    .max(253),
);

export const strings = named('strings', z.record(z.string(), z.string()));
export const objects = named('objects', z.array(z.record(z.string(), z.any())));
/** A key of a Secret or ConfigMap. */
export const key = named(
  'key',
  z
    .string()
    .regex(/^[-._a-zA-Z0-9]+$/)
    .max(253),
);
/** A key of an object that the user creates; there is none if `name` is empty. */
export const keyOf = named('keyOf', group({ name, key }));

/** CPU in cores, such as 2, "0.5" or 500m. */
const CPU = /^(?:[0-9]+m|[0-9]+(?:\.[0-9]{1,3})?)$/;
/** Bytes, such as 256Mi. Kubernetes also accepts 256m, which is a quarter of a byte. */
const BYTES = /^[0-9]+(?:\.[0-9]+)?(?:k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/;

const cpu = {
  anyOf: [
    { type: 'string', pattern: CPU.source },
    { type: 'number', minimum: 0 },
  ],
};
export const cpuAboveZero = json(
  { ...cpu, not: { anyOf: [{ const: 0 }, { type: 'string', pattern: '^[0.]+m?$' }] } },
  'cpuAboveZero',
);
export const bytes = named('bytes', z.union([z.string().regex(BYTES), z.int().min(0)]));
/** Null removes the default. */
const removed = { type: 'null' };
const amount = {
  anyOf: [{ type: 'string', pattern: BYTES.source }, { type: 'integer', minimum: 0 }, removed],
};
const amounts = json(
  {
    type: 'object',
    additionalProperties: false,
    properties: {
      cpu: { anyOf: [...cpu.anyOf, removed] },
      memory: amount,
      'ephemeral-storage': amount,
    },
    // Extended resources, such as those of devices.
    patternProperties: { '^hugepages-': amount, '/': amount },
  },
  'amounts',
);
export const resources = named('resources', group({ requests: amounts, limits: amounts }));

/** A duration such as 30s or 1h30m. */
export const duration = named('duration', z.string().regex(/^([0-9]+(ms|s|m|h))+$/));

const REGISTRY = '[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?(?::[0-9]{1,5})?';
const PATH = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
/** The host of a registry, which may be followed by the beginning of the path; without a scheme and a slash at the end. */
export const REGISTRY_PATTERN = `^(?:${REGISTRY}(?:/${PATH})*)?$`;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
export const imageFields = {
  registry: z.string().regex(new RegExp(REGISTRY_PATTERN)),
  repository: z.string().regex(new RegExp(`^(?:${REGISTRY}/)?${PATH}(?:/${PATH})*$`)),
  tag: z.string().regex(/^(?:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?$/),
  digest: orEmpty(z.string().regex(DIGEST)),
};
