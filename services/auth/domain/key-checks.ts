import { counted, failed, type GuildCheck, listed, passed } from '#kit/guild-state/check.ts';
import { GAME_SCOPES, grantsScope } from '#proto/rest/scopes.ts';
import type { KeyRecord } from './key.ts';

const DAY_MS = 24 * 3_600_000;
const EXPIRING_MS = 7 * DAY_MS;

/** Checks the keys of a guild: whether games can use one, and whether one needs attention. */
export function keyChecks(keys: readonly KeyRecord[], now: number): GuildCheck[] {
  const active = keys.filter(({ revokedAt, expiresAt }) => {
    return revokedAt === null && (expiresAt === null || expiresAt.getTime() > now);
  });
  if (active.length === 0) {
    const fix = 'Create a key on the page Keys of the console, or ask the operator of this installation for one.';
    return [failed('api_key', 'The guild has no valid API key.', fix)];
  }
  return [
    passed('api_key', `The guild has ${counted(active.length, 'valid API key')}.`),
    scopeCheck(active),
    expiryCheck(active, now),
    useCheck(active, now),
    allowlistCheck(active),
  ];
}

/** Names a key as lists of keys show it. */
const nameOf = ({ name, prefix }: KeyRecord) => (name ? `"${name}" (${prefix})` : prefix);
const namesOf = (keys: readonly KeyRecord[]) => listed(keys.map(nameOf));

const missingScopes = ({ scopes }: KeyRecord) => GAME_SCOPES.filter((scope) => !grantsScope(scopes, scope));

function scopeCheck(active: readonly KeyRecord[]): GuildCheck {
  const [best] = active.toSorted((a, b) => missingScopes(a).length - missingScopes(b).length);
  const missing = best ? missingScopes(best) : GAME_SCOPES;
  if (!best || missing.length === 0) {
    return passed('game_key_scopes', 'A key has every scope that the plugin of a game needs.');
  }
  return failed(
    'game_key_scopes',
    `No key has every scope that the plugin of a game needs: the key ${nameOf(best)} lacks ${missing.join(', ')}.`,
    'Add these scopes to the key that the game uses, or create a key for the game.',
  );
}

function expiryCheck(active: readonly KeyRecord[], now: number): GuildCheck {
  const expiring = active.filter(({ expiresAt }) => expiresAt !== null && expiresAt.getTime() < now + EXPIRING_MS);
  if (expiring.length === 0) return passed('key_expiry', 'No key expires within 7 days.');
  const days = expiring.map((key) => `${nameOf(key)} on ${key.expiresAt?.toISOString().slice(0, 10)}`);
  return failed(
    'key_expiry',
    `${counted(expiring.length, 'key')} expire${expiring.length === 1 ? 's' : ''} within 7 days: ${listed(days)}.`,
    'Move the expiry to a later time, or create a new key and put it into the programs that use the old one.',
  );
}

function useCheck(active: readonly KeyRecord[], now: number): GuildCheck {
  const unused = active.filter(({ lastUsedAt, createdAt }) => {
    return lastUsedAt === null && createdAt.getTime() < now - DAY_MS;
  });
  if (unused.length === 0) return passed('key_use', 'Every key that is older than a day has been used.');
  const message = `${counted(unused.length, 'key')} ${unused.length === 1 ? 'was' : 'were'} never used: ${namesOf(unused)}.`;
  return passed('key_use', message, 'Revoke keys that nobody needs.');
}

function allowlistCheck(active: readonly KeyRecord[]): GuildCheck {
  const open = active.filter(({ ipAllowlist }) => ipAllowlist.length === 0);
  if (open.length === 0) return passed('key_allowlist', 'Every key can be used only from listed addresses.');
  return passed(
    'key_allowlist',
    `${counted(open.length, 'key')} can be used from any address: ${namesOf(open)}.`,
    'If a key is used only by a program with a fixed address, such as your own server, list this address. Game servers have no fixed addresses.',
  );
}
