import type { SharedRedis } from '../budget/shared-redis.ts';
import type { OpenCloudConfig } from '../config.ts';
import type { PlatformOptions } from '../http/host.ts';
import { robloxCloudHost } from './hosts.ts';
import { Restrictions } from './restrictions.ts';

/** Open Cloud's limits of user restrictions in each universe. */
const ALLOWANCES = {
  'restriction-read': { slots: 50, windowMs: 1_000 },
  'restriction-write': { slots: 10, windowMs: 1_000 },
};

export interface RestrictionHostOptions extends PlatformOptions {
  config: OpenCloudConfig;
  /** The operator's key for Open Cloud, with the permissions `universe.user-restriction:read` and `:write`. */
  key: string;
  /** Shares the call budgets among all processes. */
  shared: SharedRedis;
}

/** Creates a client for user restrictions, as Open Cloud documents them in August 2026. */
export function openRestrictions({ config, key, ...options }: RestrictionHostOptions): Restrictions {
  return new Restrictions(robloxCloudHost(config, { ...options, allowances: ALLOWANCES }), key);
}
