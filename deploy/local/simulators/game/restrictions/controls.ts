import { z } from 'zod';
import { parse } from '../../parse.ts';
import type { Answer, Call, Route } from '../../routes.ts';
import { done, ok } from '../../routes.ts';
import type { World } from '../../world.ts';
import { gameId } from '../../world-schema.ts';
import type { Restrictions } from './store.ts';

const banSchema = z.strictObject({
  universe: gameId,
  place: gameId.nullable().default(null),
  user: gameId,
  active: z.boolean().default(true),
  duration_seconds: z.int().positive().nullable().default(null),
  private_reason: z.string().max(1000).default(''),
  display_reason: z.string().max(400).default(''),
  exclude_alt_accounts: z.boolean().default(false),
  /** The user who moderates on the platform's own page; null: a script on a game server. */
  moderator: gameId.nullable().default(null),
});

/** Controls that change bans as a script in the game or a moderator would, and that show whether a player can join. */
export function restrictionControls(world: World, restrictions: Restrictions): Route[] {
  return [
    { method: 'GET', pattern: '/__restrictions', handle: () => ok({ restrictions: restrictions.all() }) },
    { method: 'POST', pattern: '/__restrictions', handle: (call) => ban(call, restrictions) },
    { method: 'DELETE', pattern: '/__restrictions', handle: done(() => restrictions.clear()) },
    { method: 'GET', pattern: '/__join', handle: ({ query }) => ok(join(query, world, restrictions)) },
  ];
}

function ban(call: Call, restrictions: Restrictions): Answer {
  const { universe, place, user, moderator, duration_seconds: seconds, ...rest } = parse(banSchema, call);
  const subject = { universe: String(universe), place: place === null ? null : String(place), user: String(user) };
  const terms = {
    active: rest.active,
    seconds,
    privateReason: rest.private_reason,
    displayReason: rest.display_reason,
    excludeAltAccounts: rest.exclude_alt_accounts,
  };
  const by = moderator === null ? { gameServerScript: {} } : { robloxUser: `users/${moderator}` };
  return ok(restrictions.change(subject, terms, by), 201);
}

/** Whether a user can join a place: no restriction of the user, nor one of another account that includes this one. */
function join(query: URLSearchParams, world: World, restrictions: Restrictions) {
  const user = query.get('user') ?? '';
  const subject = { universe: query.get('universe') ?? '', place: query.get('place') };
  const others = world.users.get(Number(user))?.alternate_accounts ?? [];
  const own = restrictions.effective({ ...subject, user }).restriction;
  const ofOthers = others
    .map((other) => restrictions.effective({ ...subject, user: String(other) }).restriction)
    .filter((restriction) => restriction && !restriction.excludeAltAccounts);
  const active = [own, ...ofOthers].find((restriction) => restriction?.active);
  return { allowed: active === undefined, display_reason: active?.displayReason ?? null };
}
