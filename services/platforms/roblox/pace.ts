import { performance } from 'node:perf_hooks';
import { currentPurpose, type Purpose, requestContext } from '#kit/context.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { CallBudget } from '../budget/budget.ts';
import { PlatformLimits } from '../budget/limits.ts';
import type { SharedRedis } from '../budget/shared-redis.ts';
import type { Allowance } from '../budget/slots.ts';
import type { GamePlatformConfig, OpenCloudConfig } from '../config.ts';
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

/** Creates the budget of a kind of calls, for all processes that have the same key. */
type NewBudget = (name: string, allowance: Allowance) => CallBudget;

/**
 * Limits the rate of calls to the game platform, for all processes together. Open Cloud limits the calls per minute of
 * a key owner, separately for memberships and for inventories. The anonymous hosts publish no rate limits and share one
 * budget.
 */
export function gamePaces(options: GamePaceOptions): (host: string, url: string) => Pace {
  const { config } = options;
  const newBudget = budgetsOf(options);
  const anonymous = newBudget('anonymous', { slots: config.GAME_GLOBAL_RPS, windowMs: 1_000 });
  const perMinute = (name: string, slots: number) => newBudget(name, { slots, windowMs: MINUTE_MS });
  const cloudBudgets = new Map([
    ['memberships', perMinute('memberships', config.GAME_MEMBERSHIPS_PER_MINUTE)],
    ['inventory', perMinute('inventory', config.GAME_INVENTORIES_PER_MINUTE)],
  ]);
  return (host, url) => paceOf({ ...options, host, url }, (limit) => cloudBudgets.get(limit) ?? anonymous);
}

export interface CloudPaceOptions {
  config: OpenCloudConfig;
  shared: SharedRedis;
  metrics: Metrics;
  /** The rate limits of Open Cloud per key owner, or per universe, by name. */
  allowances: Readonly<Record<string, Allowance>>;
}

/**
 * Limits the rate of the calls of all processes to Open Cloud. Each call must name one of the rate limits. If a rate limit
 * is one of each universe, its name is followed by the universe, as in `restriction-read 30001`.
 */
export function cloudPace({ allowances, ...options }: CloudPaceOptions): Pace {
  const newBudget = budgetsOf(options);
  const budgets = new Map(Object.entries(allowances).map(([name, allowance]) => [name, newBudget(name, allowance)]));
  return paceOf({ ...options, host: 'apis', url: options.config.GAME_APIS_URL }, (limit) => {
    const [name = '', universeId] = limit.split(' ');
    const budget = budgets.get(name);
    if (!budget) throw new Error(`no rate limit ${limit}`);
    return universeId === undefined ? budget : budget.ofPart(universeId);
  });
}

interface BudgetOptions {
  config: { GAME_API_KEY?: string | undefined };
  shared: SharedRedis;
  metrics: Metrics;
}

function budgetsOf({ config, shared, metrics }: BudgetOptions): NewBudget {
  return (name, allowance) =>
    new CallBudget({
      shared,
      platform: 'game',
      credential: `game ${name} ${config.GAME_API_KEY ?? ''}`,
      allowance,
      metrics,
    });
}

function paceOf(
  { config, shared, host, url }: BudgetOptions & { host: string; url: string },
  budgetOf: (limit: string) => CallBudget,
): Pace {
  const credential = `game ${host} ${url} ${config.GAME_API_KEY ?? ''}`;
  const limits = new PlatformLimits({ shared, platform: 'game platform', credential });
  return {
    async run(limit, call) {
      const until = performance.now() + MAX_WAIT_MS[currentPurpose()];
      await limits.admit(limit, until);
      const guildId = requestContext.getStore()?.guildId ?? '';
      return budgetOf(limit).run(guildId, until - performance.now(), call);
    },
    permit: (limit) => limits.permit(limit),
    note: (limit, response) => limits.note(limit, { pause: pauseOf(response), isInvalid: false }),
  };
}

/** Returns the pause that a response requires. The time of day is needed only for a Retry-After that is a date. */
function pauseOf(response: HostResponse) {
  return response.status === 429 ? readPause(response, Date.now()) : undefined;
}
