// What the generated types know: the type of an event decides its data, and the code of an error its details. The file is
// compiled, not run.

import type { BanPlayerErrors, Event as HeyEvent } from '../build/hey-api/types.gen.js';
import type { components } from '../build/openapi-typescript.js';

type Schemas = components['schemas'];

export function nameOfKey(event: Schemas['Event'] | HeyEvent): string | undefined {
  if (event.type !== 'key.leaked' || 'erased' in event.data) return undefined;
  return event.data.name;
}

export function accountOfBan(event: Schemas['Event'] | HeyEvent): number | undefined {
  if (event.type !== 'ban.created' || 'erased' in event.data) return undefined;
  // @ts-expect-error A ban has no name of a key.
  void event.data.name;
  return event.data.game_id;
}

export const waitOf = (
  error: BanPlayerErrors['default'] | components['responses']['Error']['content']['application/json'],
): number | undefined => (error.details.code === 'RATE_LIMITED' ? error.details.retryAfter : undefined);

export function scopeOf(
  error: BanPlayerErrors['default'] | components['responses']['Error']['content']['application/json'],
) {
  return error.details.code === 'MISSING_SCOPE' ? error.details.required_scope : undefined;
}
