import { performance } from 'node:perf_hooks';
import { currentPurpose, type Purpose, requestContext } from '#kit/context.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { CallBudget } from '../budget/budget.ts';
import { PlatformLimits } from '../budget/limits.ts';
import type { SharedRedis } from '../budget/shared-redis.ts';
import type { GamePlatformConfig } from '../config.ts';
import type { HostResponse, Pace } from '../http/host.ts';
import { readPause } from '../http/pauses.ts';

const MINUTE_MS = 60_000;
/** The maximum time that a call may wait for the rate limits, in milliseconds, by purpose. */
const MAX_WAIT_MS: Record<Purpose, number> = { caller: 5_000, background: 10_000, job: 30_000 };

export interface GamePaceOptions {
  config: GamePlatformConfig;
  shared: SharedRedis;
  metrics: Metrics;
}

/**
 * Limits the rate of calls to the game platform, for all processes together. Open Cloud limits the calls per minute of
 * a key owner, separately for memberships and for inventories. The anonymous hosts publish no rate limits and share one
 * budget.
 */
export function gamePaces({ config, shared, metrics }: GamePaceOptions): (host: string, url: string) => Pace {
  const budget = (name: string, slots: number, windowMs: number) =>
    new CallBudget({
      shared,
      platform: 'game',
      credential: `game ${name} ${config.GAME_API_KEY ?? ''}`,
      allowance: { slots, windowMs },
      metrics,
    });
  const anonymous = budget('anonymous', config.GAME_GLOBAL_RPS, 1_000);
  const cloudBudgets = new Map([
    ['memberships', budget('memberships', config.GAME_MEMBERSHIPS_PER_MINUTE, MINUTE_MS)],
    ['inventory', budget('inventory', config.GAME_INVENTORIES_PER_MINUTE, MINUTE_MS)],
  ]);
  return (host, url) => {
    const credential = `game ${host} ${url} ${config.GAME_API_KEY ?? ''}`;
    const limits = new PlatformLimits({ shared, platform: 'game platform', credential });
    return {
      async run(limit, call) {
        const until = performance.now() + MAX_WAIT_MS[currentPurpose()];
        await limits.admit(limit, until);
        const guildId = requestContext.getStore()?.guildId ?? '';
        return (cloudBudgets.get(limit) ?? anonymous).run(guildId, until - performance.now(), call);
      },
      requireNoPause: (limit) => limits.requireNoPause(limit),
      note: (limit, response) => limits.note(limit, { pause: pauseOf(response), isInvalid: false }),
    };
  };
}

/** Returns the pause that a response requires. The time of day is needed only for a Retry-After that is a date. */
function pauseOf(response: HostResponse) {
  return response.status === 429 ? readPause(response, Date.now()) : undefined;
}
