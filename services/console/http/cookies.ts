import type { IncomingMessage } from 'node:http';

/** The cookie with the session token. Browsers accept the prefix `__Host-` only with Secure, Path=/ and without Domain. */
export const SESSION_COOKIE = '__Host-guild-console';
/** The cookie that binds a sign-in to the browser that began it. */
export const SIGN_IN_COOKIE = '__Host-guild-sign-in';

/** The cookie that binds a join to the browser that began it. */
export const JOIN_COOKIE = '__Host-guild-join';

const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** Session tokens and browser secrets have no other characters. */
const TOKEN = /^[A-Za-z0-9_-]{20,200}$/;

/**
 * Returns the value of a cookie; undefined if it is missing or malformed, or if the request has it twice: then it is
 * unknown which one this console has set.
 */
export function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value = ''] = values;
  return values.length === 1 && TOKEN.test(value) ? value : undefined;
}

/** Returns the value of a Set-Cookie header that stores `value` for `seconds`. */
export function cookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Max-Age=${Math.max(0, Math.floor(seconds))}; ${ATTRIBUTES}`;
}

/** Returns the value of a Set-Cookie header that removes a cookie. */
export const removedCookie = (name: string) => cookie(name, '', 0);
