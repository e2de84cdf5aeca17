import type { Call } from '../routes.ts';
import { refuseCloud } from './errors.ts';

const defaultPage = 10;

/**
 * Returns a page of rows like Open Cloud: 10 rows by default, `maxPageSize` rows if set, at most `largest`. A token is valid
 * only for the path and filter for which it was issued.
 */
export function paginate<Row>(call: Call, rows: Row[], largest: number): { page: Row[]; nextPageToken: string } {
  const query = `${call.path}?${call.query.get('filter') ?? ''}`;
  const size = readSize(call, largest);
  const start = readToken(call.query.get('pageToken'), query);
  const end = start + size;
  const nextPageToken = end < rows.length ? Buffer.from(JSON.stringify([end, query])).toString('base64url') : '';
  return { page: rows.slice(start, end), nextPageToken };
}

function readSize(call: Call, largest: number): number {
  const text = call.query.get('maxPageSize') ?? '0';
  if (!/^[0-9]{1,9}$/.test(text)) refuseCloud(400, `Invalid maxPageSize: ${text}`);
  return Math.min(Number(text) || defaultPage, largest);
}

function readToken(token: string | null, query: string): number {
  if (!token) return 0;
  const [start, issuedFor] = parseToken(token);
  if (typeof start !== 'number') return refuseCloud(400, 'Invalid page token.');
  if (issuedFor !== query) refuseCloud(400, 'The request does not match the one that the page token was given for.');
  return start;
}

function parseToken(token: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
