import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import { PERSON_PARTS, type PersonPart, type peopleRoutes } from '#proto/rest/people.ts';
import { grantsScope } from '#proto/rest/scopes.ts';
import type { People, Person } from '../domain/people.ts';
import { linkView, serverView, sessionView } from './people-views.ts';
import { logView, punishmentView, shieldView } from './views.ts';

const PARTS = Object.keys(PERSON_PARTS) as PersonPart[];

/** Returns the handlers of the REST routes in proto/rest/people.ts. */
export function peopleHandlers(people: People): HttpHandlers<typeof peopleRoutes> {
  return {
    async getPerson({ guildId, principal, params: { gameId } }) {
      const parts = new Set(PARTS.filter((part) => grantsScope(principal.scopes, PERSON_PARTS[part])));
      const person = await people.find(guildId, gameId, parts);
      return ok({
        game_id: gameId,
        ...moderationParts(person),
        ...(parts.has('link') && { link: person.link ? linkView(person.link) : null }),
        ...(parts.has('session') && { session: person.session ? sessionView(person.session) : null }),
        ...(parts.has('server') && { server: person.server ? serverView(person.server) : null }),
        omitted: PARTS.filter((part) => !parts.has(part)),
      });
    },
  };
}

const moderationParts = ({ ban, mute, flag, entries }: Person) => ({
  ban: ban ? punishmentView(ban) : null,
  mute: mute ? punishmentView(mute) : null,
  flag: flag ? shieldView(flag) : null,
  logs: entries.map(logView),
});
