import { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import type { Unknown } from '../game.ts';
import type { PlatformResponse } from '../http/host.ts';

const errorSchema = z.object({
  errors: z.array(z.object({ code: z.number(), message: z.string().catch('') })).nonempty(),
});

/** The schema of the names of users, groups, roles and items. */
export const nameSchema = z.string().min(1).max(1000);

/**
 * Returns the first error of `{"errors":[{"code":3,"message":"…"}]}`, the error format of all hosts of the game
 * platform except Open Cloud.
 */
export function errorOf({ body }: PlatformResponse): { code: number; message: string } | undefined {
  return errorSchema.safeParse(body).data?.errors[0];
}

const cloudErrorSchema = z.object({ code: z.literal('NOT_FOUND') });

/**
 * True if the game platform rejects a request because of an account or an item that the request names. A 404 counts
 * only with the error code of Open Cloud, because a host that has lost a route responds with 404 to every request.
 */
export function isRejection({ status, body }: PlatformResponse): boolean {
  if (status === 404) return cloudErrorSchema.safeParse(body).success;
  return status === 400 || status === 409 || status === 422;
}

/** Returns the result of a promise, or the ApiError with which the promise rejects. */
export async function resultOrError<Result>(result: Promise<Result>): Promise<Result | ApiError> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Returns the result of a promise, or `unknown` if the promise rejects with an ApiError. */
export async function resultOrUnknown<Result>(promise: Promise<Result>): Promise<Result | Unknown> {
  const result = await resultOrError(promise);
  return result instanceof ApiError ? 'unknown' : result;
}
