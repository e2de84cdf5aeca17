import { Matcher } from '#kit/http/match.ts';
import { validate } from '#kit/http/validate.ts';
import { ROUTES } from '#proto/rest/index.ts';

const matcher = new Matcher(ROUTES, '');

/** What the API rejects in the body of a request; an empty list if the API accepts it. */
export function bodyFaults(method: string, path: string, body: unknown): object[] {
  const match = matcher.match(method, path);
  if (!('route' in match) || match.route.body === undefined) return [];
  // A copy, because the validation replaces empty tables.
  return validate(match.route.body, structuredClone(body), 'body').faults ?? [];
}
