/** The maximum size of an event's data in bytes of JSON; with its other fields an event has at most 20 KB. */
export const MAX_DATA_BYTES = 19_000;
/** The maximum size of a record before its change, which only the audit has. */
export const MAX_BEFORE_BYTES = 4_000;

/** The length to which texts are cut, the longest step first, until the data fits. */
const STEPS = [1_000, 200, 50] as const;
const MAX_ITEMS = 50;

/**
 * Returns the data of an event as it is stored. Data above `maxBytes` is cut: long texts and lists are shortened, and
 * the field `truncated` is set.
 */
export function truncated(data: object, maxBytes = MAX_DATA_BYTES): object {
  const fits = (value: object) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes;
  if (fits(data)) return data;
  for (const length of STEPS) {
    const cut = { ...(shortened(data, length) as object), truncated: true };
    if (fits(cut)) return cut;
  }
  const scalars = Object.entries(data).filter(([, value]) => typeof value !== 'object');
  return { ...(shortened(Object.fromEntries(scalars.slice(0, MAX_ITEMS)), 50) as object), truncated: true };
}

function shortened(value: unknown, length: number): unknown {
  if (typeof value === 'string') return Array.from(value).slice(0, length).join('');
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => shortened(item, length));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shortened(item, length)]));
}
