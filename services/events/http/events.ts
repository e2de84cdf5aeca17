import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import type { eventsRoutes } from '#proto/rest/events.ts';
import type { Polls } from '../domain/polls.ts';
import { visibleTypes } from '../domain/visible-types.ts';
import { eventView, mayReadPersons } from './views.ts';

/** The maximum size of the events in a response in bytes; the last event may exceed it. */
const MAX_BYTES = 1024 * 1024;

/** Returns the handlers of the REST routes in proto/rest/events.ts. */
export function eventsHandlers(polls: Polls): HttpHandlers<typeof eventsRoutes> {
  return {
    async listEvents({ guildId, principal, query, signal }) {
      const { after = null, limit, wait } = query;
      const types = visibleTypes(principal.scopes, query.types);
      const request = { guildId, after, types, limit, maxBytes: MAX_BYTES };
      const { events, examinedSeq, oldestSeq } = await polls.poll(request, wait * 1000, signal);
      const showsPersons = mayReadPersons(principal.scopes);
      return ok({
        events: events.map((event) => eventView(event, showsPersons)),
        next_after: examinedSeq,
        oldest_seq: oldestSeq,
      });
    },
  };
}
