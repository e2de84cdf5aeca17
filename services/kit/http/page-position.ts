import { type Fault, invalidRequest } from '../errors.ts';

/**
 * Writes and parses position texts: each names the place in an internal list at which a page begins, such as
 * `1767225600000_900000000000000001`.
 */
export interface PositionCodec<Field extends string> {
  write(position: Readonly<Record<Field, string | number>>): string;
  /** Parses a position into its fields. Throws INVALID_REQUEST if the text is no position of this list. */
  read(text: string): Record<Field, string>;
}

const NOT_A_POSITION: Fault = { path: 'request.position', message: 'is not a next_position of this list' };

/**
 * Creates a codec for page positions: they consist of the fields that a list is ordered by, joined by `_`. A field's
 * pattern must not contain a capturing group, and except for the last field must not match `_`.
 */
export function positionCodec<Field extends string>(
  fields: Readonly<Record<Field, RegExp>>,
  fault: Fault = NOT_A_POSITION,
): PositionCodec<Field> {
  const names = Object.keys(fields) as Field[];
  const pattern = new RegExp(`^${names.map((name) => `(${fields[name].source})`).join('_')}$`);
  return {
    write: (position) => names.map((name) => position[name]).join('_'),
    read(text) {
      const values = pattern.exec(text)?.slice(1);
      if (!values) throw invalidRequest([fault]);
      return Object.fromEntries(names.map((name, index) => [name, values[index]])) as Record<Field, string>;
    },
  };
}
