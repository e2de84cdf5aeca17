import { performance } from 'node:perf_hooks';
import { currentPurpose, type Purpose, requestContext } from '#kit/context.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { CallBudget } from '../budget/budget.ts';
import { PlatformLimits } from '../budget/limits.ts';
import type { SharedRedis } from '../budget/shared-redis.ts';
import type { GamePlatformConfig } from '../config.ts';
import type { HostAnswer, Pace } from '../http/host.ts';
import { readPause } from '../http/pauses.ts';

const MINUTE_MS = 60_000;
/** How long a call may wait for its turn. */
const PATIENCE_MS: Record<Purpose, number> = { caller: 5_000, background: 10_000, job: 30_000 };

export interface GamePaceOptions {
  config: GamePlatformConfig;
  shared: SharedRedis;
  metrics: Metrics;
}

/**
 * Paces the calls of the game platform, for all processes together. Open Cloud grants so many calls a minute to the
 * owner of a key, by family; the anonymous hosts publish no limits and share one budget.
 */
export function gamePaces({ config, shared, metrics }: GamePaceOptions): (host: string, url: string) => Pace {
  const budget = (name: string, places: number, windowMs: number) =>
    new CallBudget({
      shared,
      platform: 'game',
      credential: `game ${name} ${config.GAME_API_KEY ?? ''}`,
      allowance: { places, windowMs },
      metrics,
    });
  const anonymous = budget('anonymous', config.GAME_GLOBAL_RPS, 1_000);
  const families = new Map([
    ['memberships', budget('memberships', config.GAME_MEMBERSHIPS_PER_MINUTE, MINUTE_MS)],
    ['inventory', budget('inventory', config.GAME_INVENTORIES_PER_MINUTE, MINUTE_MS)],
  ]);
  return (host, url) => {
    const credential = `game ${host} ${url} ${config.GAME_API_KEY ?? ''}`;
    const limits = new PlatformLimits({ shared, platform: 'game platform', credential });
    return {
      async run(limit, call) {
        const until = performance.now() + PATIENCE_MS[currentPurpose()];
        await limits.admit(limit, until);
        const guildId = requestContext.getStore()?.guildId ?? '';
        return (families.get(limit) ?? anonymous).run(guildId, until - performance.now(), call);
      },
      note: (limit, answer) => limits.note(limit, { pause: pauseOf(answer), isInvalid: false }),
    };
  };
}

/** Time of day serves only to read a Retry-After that is a date. */
function pauseOf(answer: HostAnswer) {
  return answer.status === 429 ? readPause(answer, Date.now()) : undefined;
}
