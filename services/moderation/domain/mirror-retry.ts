import type { RetryPolicy } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';

const BACKOFF = { minMs: 1_000, maxMs: 600_000 };
/** The attempts take about a day and a half; then the task is a dead letter. */
const MAX_ATTEMPTS = 220;

/** How the queues retry that make bans and mutes equal with a platform. */
export const MIRROR_RETRY: RetryPolicy = {
  delayMs: (attempts, { retryAfter = 0 }) => Math.max(backoffMs(attempts, BACKOFF), 1_000 * retryAfter),
  // No error is permanent: somebody may give the bot or the key a permission at any time.
  isPermanent: () => false,
  // No error pauses the queue, because the failures and rate limits of one guild must not delay others.
  isOutage: () => false,
  limits: { maxAttempts: MAX_ATTEMPTS, maxOutageSeconds: null },
};
