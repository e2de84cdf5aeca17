import { type CursorScope, decodeCursor, encodeCursor } from '#kit/http/cursor.ts';

/** The position in the cursor of a request; undefined on the first page. INVALID_REQUEST if it belongs to another list. */
export function positionOf(scope: CursorScope, cursor: string): string | undefined {
  return cursor === '' ? undefined : decodeCursor(scope, cursor, 'request.cursor');
}

/** The cursor of the page after `items`; empty if `items` is the last page, which holds fewer than `limit` items. */
export function nextCursor<Item>(
  scope: CursorScope,
  items: readonly Item[],
  limit: number,
  position: (item: Item) => string,
): string {
  const last = items.at(-1);
  return last !== undefined && items.length === limit ? encodeCursor(scope, position(last)) : '';
}
