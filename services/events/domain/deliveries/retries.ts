import { readEventsById } from '../../store/log.ts';
import { dropParked, type Retry, releaseRetries, settleRetry, takeRetry } from '../../store/parked.ts';
import type { Endpoint } from '../endpoint.ts';
import { visibleTypes } from '../visible-types.ts';
import type { DrainOptions } from './drain.ts';

/** The maximum number of parked events of an endpoint that are sent before others get its place. */
const MAX_EVENTS = 50;
/** The maximum duration of a turn in milliseconds, apart from its last attempt. */
const TURN_MS = 5_000;

/**
 * Sends the parked events of an endpoint that are due, one after the other. Returns true if the endpoint is due for
 * events after its cursor, because enough parked events were removed.
 */
export async function sendParked(
  endpoint: Pick<Endpoint, 'guildId' | 'id'>,
  becameSlow: () => void,
  options: DrainOptions,
): Promise<boolean> {
  const { database, isStopping } = options;
  const until = performance.now() + TURN_MS;
  let isDue = false;
  for (let sent = 0; sent < MAX_EVENTS && performance.now() < until && !isStopping(); sent++) {
    const retry = await takeRetry(database, endpoint);
    if (!retry) break;
    const result = await send(retry, becameSlow, options);
    if (!result) break;
    isDue = result.isDue;
  }
  await database.transaction((transaction) => releaseRetries(transaction, endpoint));
  return isDue;
}

/** Sends one parked event. Returns undefined if the turn ends, because nothing can be sent to the endpoint now. */
async function send(
  retry: Retry,
  becameSlow: () => void,
  { database, attempts, disableGone }: DrainOptions,
): Promise<{ isDue: boolean } | undefined> {
  const [event] = await readEventsById(database, retry.guildId, [retry.eventId]);
  if (!event || !(visibleTypes(retry.scopes) as string[]).includes(event.type)) {
    return { isDue: await dropParked(database, retry) };
  }
  const attempted = await attempts.make({ recipient: retry, event, attempts: retry.attempts, becameSlow });
  if (!attempted) return undefined;
  if (attempted.isGone) {
    await disableGone(retry, attempted);
    return undefined;
  }
  return { isDue: await settleRetry(database, retry, attempted) };
}
