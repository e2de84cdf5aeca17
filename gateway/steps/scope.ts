import { missingScope, type Rejection } from '#kit/errors.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import type { Route } from '#proto/rest/route.ts';
import { grantsScope } from '#proto/rest/scopes.ts';

/** Returns the scopes of an API key; null for a legacy key, which has access to everything. */
export function scopesOf(grant: KeyGrant): readonly string[] | null {
  return grant.legacy ? null : grant.scopes;
}

/** Returns MISSING_SCOPE if the API key lacks the scope that the route requires. */
export function checkScope(route: Route, grant: KeyGrant): Rejection {
  if (route.scope === null || grantsScope(scopesOf(grant), route.scope)) return undefined;
  return missingScope(route.scope);
}
