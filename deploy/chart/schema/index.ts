import { group, type JsonSchema, toJsonSchema } from './build.ts';
import { cluster } from './cluster.ts';
import { exposure } from './exposure.ts';
import { general } from './general.ts';
import { outside } from './outside.ts';
import { pods } from './pods.ts';
import { stores } from './stores.ts';

/**
 * The chart's values.schema.json. Types and bounds of values that become environment variables are those that the
 * processes check.
 */
export function valuesSchema(): JsonSchema {
  const values = group({ ...general, ...pods, ...exposure, ...stores, ...outside, ...cluster });
  const schema = toJsonSchema(values);
  return { ...schema, title: 'Values of the chart guild-data', patternProperties: { '^x-': {} } };
}
