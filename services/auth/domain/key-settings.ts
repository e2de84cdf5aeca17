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
