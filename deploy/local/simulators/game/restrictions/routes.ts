import type { Clock, Limit, Windows } from '../../limits.ts';
import type { Answer, Call } from '../../routes.ts';
import { ok } from '../../routes.ts';
import type { World } from '../../world.ts';
import { paginate } from '../cloud-pages.ts';
import { refuseCloud } from '../errors.ts';
import type { GameRoute } from '../limits.ts';
import { readIdempotencyKey, readLogFilter, readTerms, subjectOf } from './request.ts';
import type { Moderator, Restriction, RestrictionLog, Restrictions, Subject } from './store.ts';

const LARGEST_PAGE = 100;
const ended = { active: false, privateReason: '', displayReason: '', excludeAltAccounts: false };

type Options = {
  world: World;
  restrictions: Restrictions;
  windows: Windows;
  /** How often one user can be written to in one universe. */
  userLimit: Limit;
  clock: Clock;
  /** The account that owns the API key of a request. */
  ownerOf: (call: Call) => string;
};

/** Routes of Open Cloud for bans, which the platform enforces when a player joins a universe or a place. */
export function restrictionRoutes(options: Options): GameRoute[] {
  const { restrictions } = options;
  const universe = '/cloud/v2/universes/:universe';
  const read = (call: Call) => ok(view(subjectOf(call), restrictions.effective(subjectOf(call))));
  const rows = (base: string): GameRoute[] => [
    { method: 'GET', pattern: base, limit: 'restriction-read', handle: (call) => list(call, restrictions) },
    { method: 'GET', pattern: `${base}/:user`, limit: 'restriction-read', handle: read },
    {
      method: 'PATCH',
      pattern: `${base}/:user`,
      limit: 'restriction-write',
      handle: (call) => update(call, options),
    },
  ];
  const logs = `${universe}/user-restrictions:listLogs`;
  return [
    { method: 'GET', pattern: logs, limit: 'restriction-read', handle: (call) => listLogs(call, restrictions) },
    ...rows(`${universe}/user-restrictions`),
    ...rows(`${universe}/places/:place/user-restrictions`),
  ];
}

function update(call: Call, { world, restrictions, windows, userLimit, clock, ownerOf }: Options): Answer {
  const subject = subjectOf(call);
  const terms = readTerms(call);
  const key = readIdempotencyKey(call, clock());
  if (world.users.get(Number(subject.user))?.rejected) refuseCloud(400, `The user ${subject.user} is invalid.`);
  // A repeated request returns what the first one returned, and is not counted as a second change of the user.
  const earlier = key === undefined ? undefined : restrictions.outcome(key);
  if (earlier) return ok(view(subject, { restriction: earlier, inherited: false }));
  const standing = windows.take(`restriction-user ${subject.universe} ${subject.user}`, userLimit);
  if (!standing.allowed)
    refuseCloud(429, 'Too many changes of this user.', {
      'x-ratelimit-limit': `${userLimit.count}, ${userLimit.count};w=${userLimit.seconds}`,
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(standing.resetMs / 1000)),
    });
  const moderator: Moderator = { robloxUser: ownerOf(call) };
  const restriction = restrictions.change(subject, terms, moderator);
  if (key !== undefined) restrictions.remember(key, restriction);
  return ok(view(subject, { restriction, inherited: false }));
}

function list(call: Call, restrictions: Restrictions): Answer {
  const { universe, place } = subjectOf({ ...call, params: { ...call.params, user: '1' } });
  const { page, nextPageToken } = paginate(call, restrictions.list(universe, place), LARGEST_PAGE);
  return ok({
    userRestrictions: page.map((restriction) => view(restriction, { restriction, inherited: false })),
    nextPageToken,
  });
}

function listLogs(call: Call, restrictions: Restrictions): Answer {
  const { user, place } = readLogFilter(call.query.get('filter'));
  const found = restrictions
    .logs(call.params['universe'] ?? '')
    .filter((log) => (user === undefined || log.user === user) && (place === undefined || log.place === place));
  const { page, nextPageToken } = paginate(call, found, LARGEST_PAGE);
  return ok({ logs: page.map(viewLog), nextPageToken });
}

type Effective = { restriction: Restriction | undefined; inherited: boolean };

/** A restriction in the platform's format. A user who was never restricted has an inactive one. */
function view({ universe, place, user }: Subject, { restriction, inherited }: Effective) {
  const parent = place === null ? `universes/${universe}` : `universes/${universe}/places/${place}`;
  return {
    path: `${parent}/user-restrictions/${user}`,
    ...(restriction && { updateTime: timestamp(restriction.updateTime) }),
    user: `users/${user}`,
    gameJoinRestriction: restriction ? { ...viewTerms(restriction), inherited } : { ...ended, inherited },
  };
}

function viewLog(log: RestrictionLog) {
  return {
    user: `users/${log.user}`,
    // Empty for a change in the whole universe.
    place: log.place === null ? '' : `places/${log.place}`,
    moderator: log.moderator,
    createTime: timestamp(log.createTime),
    ...viewTerms(log),
    restrictionType: { gameJoinRestriction: {} },
  };
}

function viewTerms(terms: Restriction | RestrictionLog) {
  const { active, startTime, seconds, privateReason, displayReason, excludeAltAccounts } = terms;
  return {
    active,
    startTime: timestamp(startTime),
    ...(seconds !== null && { duration: `${seconds}s` }),
    privateReason,
    displayReason,
    excludeAltAccounts,
  };
}

const timestamp = (time: number) => new Date(time).toISOString();
