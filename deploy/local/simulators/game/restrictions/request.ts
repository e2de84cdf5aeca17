import type { Call } from '../../routes.ts';
import { refuseCloud } from '../errors.ts';
import type { Subject, Terms } from './store.ts';

const MAX_SECONDS = 315_576_000_000;
const MAX_PRIVATE_REASON = 1000;
const MAX_DISPLAY_REASON = 400;
/** How long an idempotency key is valid; the platform does not publish it. */
const KEY_LIFETIME_MS = 24 * 3_600_000;

/** The user in the path, and the universe or place. */
export function subjectOf({ params }: Call): Subject {
  const { universe = '', place = null, user = '' } = params;
  for (const id of [universe, place ?? '1', user])
    if (!/^[1-9][0-9]{0,15}$/.test(id)) refuseCloud(400, `Invalid ID: ${id}`);
  return { universe, place, user };
}

/** The writable fields of a PATCH. The whole restriction is replaced; `startTime` is ignored because it is read-only. */
export function readTerms(call: Call): Terms {
  const mask = call.query.get('updateMask') ?? 'gameJoinRestriction';
  if (mask !== 'gameJoinRestriction' && mask !== 'game_join_restriction')
    refuseCloud(400, 'The updateMask must be gameJoinRestriction, which is updated as a whole.');
  const body = (call.body ?? {}) as Record<string, unknown>;
  const fields = body['gameJoinRestriction'];
  if (typeof fields !== 'object' || fields === null) return refuseCloud(400, 'gameJoinRestriction is required.');
  return parseTerms(fields as Record<string, unknown>);
}

/** The terms in the platform's format. */
export function parseTerms(fields: Record<string, unknown>): Terms {
  const { active, duration, excludeAltAccounts = false } = fields;
  if (typeof active !== 'boolean') return refuseCloud(400, 'active must be a boolean.');
  if (typeof excludeAltAccounts !== 'boolean') return refuseCloud(400, 'excludeAltAccounts must be a boolean.');
  const privateReason = readText(fields, 'privateReason', MAX_PRIVATE_REASON);
  const displayReason = readText(fields, 'displayReason', MAX_DISPLAY_REASON);
  if (/https?:\/\/|www\./i.test(displayReason)) refuseCloud(400, 'displayReason must not contain links.');
  return { active, seconds: readDuration(duration), privateReason, displayReason, excludeAltAccounts };
}

function readDuration(duration: unknown): number | null {
  if (duration === undefined || duration === null) return null;
  const [, digits] = /^([0-9]{1,12})s$/.exec(typeof duration === 'string' ? duration : '') ?? [];
  const seconds = Number(digits);
  if (!(seconds >= 1 && seconds <= MAX_SECONDS))
    refuseCloud(400, `duration must be whole seconds from 1s to ${MAX_SECONDS}s.`);
  return seconds;
}

function readText(fields: Record<string, unknown>, name: string, longest: number): string {
  const text = fields[name] ?? '';
  if (typeof text !== 'string' || Array.from(text).length > longest)
    return refuseCloud(400, `${name} must be a text of at most ${longest} characters.`);
  return text;
}

/** The idempotency key of a request, if it has one. A request older than the lifetime of keys is refused. */
export function readIdempotencyKey({ query, path, headers }: Call, now: number): string | undefined {
  const key = query.get('idempotencyKey.key');
  const firstSent = query.get('idempotencyKey.firstSent');
  if (firstSent !== null) {
    const sentAt = Date.parse(firstSent);
    if (Number.isNaN(sentAt)) refuseCloud(400, 'idempotencyKey.firstSent must be a timestamp.');
    if (sentAt < now - KEY_LIFETIME_MS) refuseCloud(400, 'The idempotency key has expired.');
  }
  if (key === null) return undefined;
  if (key === '') return refuseCloud(400, 'idempotencyKey.key is empty.');
  return `${String(headers['x-api-key'])} ${path} ${key}`;
}

/** The subject that a filter of logs names, such as `user == 'users/1' && place == 'places/2'`. */
export function readLogFilter(filter: string | null): { user?: string; place?: string } {
  const found: { user?: string; place?: string } = {};
  for (const part of filter ? filter.split('&&') : []) {
    const match = /^\s*(user|place)\s*==\s*(['"])(users|places)\/([0-9]+)\2\s*$/.exec(part);
    const [, field, , collection, id = ''] = match ?? [];
    if (!field || collection !== `${field}s`)
      return refuseCloud(400, "The filter must be: user == 'users/1' && place == 'places/2'");
    found[field as 'user' | 'place'] = id;
  }
  return found;
}
