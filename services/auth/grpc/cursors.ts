import { type CursorScope, decodeCursor, encodeCursor } from '#kit/http/cursor.ts';

/**
 * Returns the position in the cursor of a request; undefined for the first page. Throws INVALID_REQUEST if the cursor
 * belongs to another list.
 */
export function positionOf(scope: CursorScope, cursor: string): string | undefined {
  return cursor === '' ? undefined : decodeCursor(scope, cursor, 'request.cursor');
}

/**
 * Returns the cursor of the page after `items`; empty if `items` is the last page, which has fewer than `limit` items.
 */
export function nextCursor<Item>(
  scope: CursorScope,
  items: readonly Item[],
  limit: number,
  position: (item: Item) => string,
): string {
  const last = items.at(-1);
  return last !== undefined && items.length === limit ? encodeCursor(scope, position(last)) : '';
}
