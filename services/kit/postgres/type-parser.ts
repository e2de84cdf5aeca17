import { types } from 'pg';

const INT8 = 20;
const INT8_ARRAY = 1016;

/**
 * Returns the parser for a PostgreSQL type. 64-bit integers are parsed as numbers, also in arrays; IDs above 2^53 are
 * stored as text.
 */
export const getTypeParser = ((oid: number, format?: 'text' | 'binary') => {
  const usual = types.getTypeParser(oid, format);
  if (format === 'binary') return usual;
  if (oid === INT8) return Number;
  if (oid !== INT8_ARRAY) return usual;
  return (text: string) => (usual(text) as (string | null)[]).map((item) => (item === null ? null : Number(item)));
}) as typeof types.getTypeParser;
