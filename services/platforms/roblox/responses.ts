import { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import type { Unknown } from '../game.ts';
import type { PlatformAnswer } from '../http/host.ts';

const errorAnswer = z.object({
  errors: z.array(z.object({ code: z.number(), message: z.string().catch('') })).nonempty(),
});

/** The names of users, groups, roles and items. */
export const givenName = z.string().min(1).max(1000);

/** The first of `{"errors":[{"code":3,"message":"…"}]}`, which is how the older hosts refuse. */
export function refusal({ body }: PlatformAnswer): { code: number; message: string } | undefined {
  return errorAnswer.safeParse(body).data?.errors[0];
}

const cloudError = z.object({ code: z.literal('NOT_FOUND') });

/**
 * Whether a call is wrong in itself, because of an account or an item that it names. A 404 says so only in Open Cloud's
 * own words: a host that has lost a route answers 404 to everything.
 */
export function isRejection({ status, body }: PlatformAnswer): boolean {
  if (status === 404) return cloudError.safeParse(body).success;
  return status === 400 || status === 409 || status === 422;
}

/** The outcome, or why the platform gives none. */
export async function orError<Outcome>(outcome: Promise<Outcome>): Promise<Outcome | ApiError> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** The outcome, or `unknown` where the platform gives none. */
export async function orUnknown<Outcome>(outcome: Promise<Outcome>): Promise<Outcome | Unknown> {
  const known = await orError(outcome);
  return known instanceof ApiError ? 'unknown' : known;
}
