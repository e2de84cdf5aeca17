import { asApiError } from '#kit/errors.ts';
import { failed, type GuildCheck } from '#kit/guild-state/check.ts';
import { DeadlineError } from '#kit/resilience/deadline.ts';

/**
 * How long, in milliseconds, a check of the set-up of a guild waits for a platform. It is shorter than the time that
 * other services wait for the checks.
 */
export const CHECK_WAIT_MS = 2_000;

/** How long, in milliseconds, checks that call a platform are used again, so that a person who repeats them does no harm. */
export const CHECKS_TTL_MS = 30_000;

const PLATFORMS = {
  chat_platform: { name: 'The chat platform', credential: "the bot's token" },
  game_platform: { name: 'The game platform', credential: 'the key for the game platform' },
} as const;

/** Returns the failed check of a platform that rejected a call, or did not respond in time. */
export function outageCheck(check: keyof typeof PLATFORMS, error: unknown): GuildCheck {
  const { name, credential } = PLATFORMS[check];
  if (!(error instanceof DeadlineError) && asApiError(error).code === 'PLATFORM_ERROR') {
    return failed(
      check,
      `${name} rejected a request, so that not everything could be checked.`,
      `Ask the operator of this installation to check ${credential}.`,
    );
  }
  return failed(
    check,
    `${name} does not respond at the moment, so that not everything could be checked.`,
    `Check again in a minute. If it lasts for an hour, ask the operator of this installation to check ${credential}.`,
  );
}
