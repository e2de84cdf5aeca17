import { createHash } from 'node:crypto';
import { invalidRequest } from '../errors.ts';

/** What a cursor belongs to: the same list with the same filters. */
export interface CursorScope {
  route: string;
  guildId: string;
  /** The filters of the request, `limit` and `cursor` apart. */
  filters?: Record<string, unknown>;
}

/** What is told of a text that is no cursor, or one of another list. */
export const NO_CURSOR = 'is not a next_cursor of this list with these filters';

/** An opaque text for where the next page begins. */
export function encodeCursor(scope: CursorScope, position: string): string {
  return Buffer.from(JSON.stringify([position, fingerprint(scope, position)])).toString('base64url');
}

/** Whether a text looks like a cursor of some list; of which one, only `decodeCursor` can tell. */
export function isCursorShaped(cursor: string): boolean {
  try {
    const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown;
    return Array.isArray(parts) && parts.length === 2 && parts.every((part) => typeof part === 'string');
  } catch {
    return false;
  }
}

/** The position in a cursor; INVALID_REQUEST, about `path`, when it is damaged or of another list. */
export function decodeCursor(scope: CursorScope, cursor: string, path = 'query.cursor'): string {
  try {
    const [position] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof position === 'string' && cursor === encodeCursor(scope, position)) return position;
  } catch {
    // Told below, like a cursor of another list.
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
