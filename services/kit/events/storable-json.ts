/**
 * Escapes that JSON allows and the type jsonb of PostgreSQL does not (the null character and unpaired surrogates), and
 * numbers with an exponent.
 */
const SUSPICIOUS = /\\u(?:0000|d[89a-f])|\de[+-]\d/i;
const REPLACEMENT = '\ufffd';

/**
 * Returns a value as JSON that PostgreSQL accepts as jsonb and returns with about the same length. Clients may send texts
 * with null characters or unpaired surrogates, for example in the details of a staff action; both are replaced, because an
 * event must not fail for them. Numbers of which jsonb would write hundreds of digits, such as 1e+300, become texts.
 */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  return SUSPICIOUS.test(text) ? JSON.stringify(cleaned(JSON.parse(text))) : text;
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', REPLACEMENT);
  if (typeof value === 'number') return String(value).includes('e') ? String(value) : value;
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [cleaned(name), cleaned(item)]));
}
