import { z } from 'zod';

/** Describes an environment variable that holds `name=value` pairs separated by commas; values are percent-encoded. */
export const pairs = () =>
  z
    .string()
    .default('')
    .transform((text, context) => {
      const found = text.split(',').filter((pair) => pair.trim() !== '');
      try {
        return Object.fromEntries(found.map(parsePair));
      } catch {
        context.addIssue({
          code: 'custom',
          message: 'must hold name=value pairs separated by commas, without control characters',
        });
        return z.NEVER;
      }
    });

/** The pattern of the names in such pairs. The chart's schema has it too. */
export const PAIR_NAME = '[\\w.-]+';
const CONTROL_CHARACTER = /\p{Cc}/u;
const PAIR = new RegExp(`^\\s*(${PAIR_NAME})=(.*?)\\s*$`);

function parsePair(text: string): [name: string, value: string] {
  const [, name, value] = PAIR.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new Error('a pair has no name or no value');
  const decoded = decodeURIComponent(value);
  // HTTP headers cannot have them.
  if (CONTROL_CHARACTER.test(decoded)) throw new Error('a value has a control character');
  return [name, decoded];
}
