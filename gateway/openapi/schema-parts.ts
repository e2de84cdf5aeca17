import type { JsonSchema } from './document.ts';

/** Returns the schemas that are directly within a schema. */
export function partsOf({
  properties = {},
  items,
  additionalProperties: values,
  anyOf,
  oneOf,
  allOf,
}: JsonSchema): JsonSchema[] {
  const single = [items, typeof values === 'object' ? values : undefined].filter((part) => part !== undefined);
  return [Object.values(properties), single, anyOf ?? [], oneOf ?? [], allOf ?? []].flat();
}
