import { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import type { Unknown } from '../game.ts';
import type { PlatformResponse } from '../http/host.ts';

const errorSchema = z.object({
  errors: z.array(z.object({ code: z.number(), message: z.string().catch('') })).nonempty(),
});

/** The names of users, groups, roles and items. */
export const nameSchema = z.string().min(1).max(1000);

/** The first error of `{"errors":[{"code":3,"message":"…"}]}`, the format of all hosts except Open Cloud. */
export function errorOf({ body }: PlatformResponse): { code: number; message: string } | undefined {
  return errorSchema.safeParse(body).data?.errors[0];
}

const cloudErrorSchema = z.object({ code: z.literal('NOT_FOUND') });

/**
 * True if the platform rejects a request because of an account or an item that it names. A 404 counts only with the
 * error code of Open Cloud, because a host that has lost a route responds with 404 to every request.
 */
export function isRejection({ status, body }: PlatformResponse): boolean {
  if (status === 404) return cloudErrorSchema.safeParse(body).success;
  return status === 400 || status === 409 || status === 422;
}

/** The result, or the ApiError with which it rejects. */
export async function resultOrError<Result>(result: Promise<Result>): Promise<Result | ApiError> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** The result, or `unknown` if it rejects with an ApiError. */
export async function resultOrUnknown<Result>(promise: Promise<Result>): Promise<Result | Unknown> {
  const result = await resultOrError(promise);
  return result instanceof ApiError ? 'unknown' : result;
}
