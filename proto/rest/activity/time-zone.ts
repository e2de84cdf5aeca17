import { z } from 'zod';

/** Names of the time zone database begin with a letter; offsets such as +05:30, which Temporal accepts too, do not. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
const WRONG_NAME = 'must be the name of an IANA time zone, such as Europe/Berlin';

function isTimeZone(name: string): boolean {
  if (!NAME.test(name)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch {
    return false;
  }
}

/** The name of an IANA time zone in a request. */
export const timeZone = z
  .string({ error: WRONG_NAME })
  .refine(isTimeZone, { error: WRONG_NAME })
  .meta({ pattern: NAME.source, example: 'Europe/Berlin' });
