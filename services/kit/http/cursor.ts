import { createHash } from 'node:crypto';
import { invalidRequest } from '../errors.ts';

/** Identifies the list that a cursor belongs to: one route of one guild, with the same filters. */
export interface CursorScope {
  route: string;
  guildId: string;
  /** The query filters of the list, without `limit` and `cursor`. */
  filters?: Record<string, unknown>;
}

/** The error message for a cursor that is invalid or belongs to another list. */
export const NO_CURSOR = 'is not a next_cursor of this list with these filters';

/** Creates a cursor: an opaque text that contains the position at which the next page of a list begins. */
export function encodeCursor(scope: CursorScope, position: string): string {
  return Buffer.from(JSON.stringify([position, fingerprint(scope, position)])).toString('base64url');
}

/** True if a text has the form of a cursor. Only `decodeCursor` checks the list that the cursor belongs to. */
export function isCursorShaped(cursor: string): boolean {
  try {
    const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown;
    return Array.isArray(parts) && parts.length === 2 && parts.every((part) => typeof part === 'string');
  } catch {
    return false;
  }
}

/**
 * Returns the page position in a cursor. Throws INVALID_REQUEST, which names the parameter `path`, if the cursor is
 * damaged or belongs to another list.
 */
export function decodeCursor(scope: CursorScope, cursor: string, path = 'query.cursor'): string {
  try {
    const [position] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof position === 'string' && cursor === encodeCursor(scope, position)) return position;
  } catch {
    // A damaged cursor gets the same error as a cursor of another list, below.
  }
  throw invalidRequest([{ path, message: NO_CURSOR }]);
}

function fingerprint({ route, guildId, filters = {} }: CursorScope, position: string): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([route, guildId, given, position]))
    .digest('base64url')
    .slice(0, 16);
}
