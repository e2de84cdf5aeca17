import { isDeepStrictEqual } from 'node:util';
import type { KeySettings } from './key.ts';

/** The settings of an API key to change; a setting that is undefined stays as it is. */
export type SettingChanges = { [Name in keyof KeySettings]: KeySettings[Name] | undefined };

/** Returns the settings of an API key that are not undefined, under the names that the audit uses. */
export function describeSettings({
  name,
  scopes,
  ipAllowlist,
  rateLimit,
  expiresAt,
}: SettingChanges): Record<string, unknown> {
  const settings = {
    name,
    scopes,
    ip_allowlist: ipAllowlist,
    rate_limit: rateLimit,
    expires_at: expiresAt && expiresAt.getTime() / 1000,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** Returns the settings of an API key after changes. */
export function withChanges(before: KeySettings, changes: SettingChanges): KeySettings {
  return {
    name: changes.name ?? before.name,
    scopes: changes.scopes === undefined ? before.scopes : changes.scopes,
    ipAllowlist: changes.ipAllowlist ?? before.ipAllowlist,
    rateLimit: changes.rateLimit === undefined ? before.rateLimit : changes.rateLimit,
    expiresAt: changes.expiresAt === undefined ? before.expiresAt : changes.expiresAt,
  };
}

/** True if both settings of an API key are the same. */
export const areSameSettings = (one: KeySettings, other: KeySettings) =>
  isDeepStrictEqual(describeSettings(one), describeSettings(other));
