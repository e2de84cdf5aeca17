import { invalidRequest } from '#kit/errors.ts';
import type { Persons } from '../limits/persons.ts';
import type { EventStreams } from '../streams/event-streams.ts';
import type { ConsoleHandlers } from './endpoint.ts';

/** Returns the handler of the stream of events. */
export function eventHandlers(parts: {
  streams: EventStreams;
  persons: Persons;
}): Pick<ConsoleHandlers, 'streamEvents'> {
  const { streams, persons } = parts;
  return {
    async streamEvents({ caller, params: { guildId }, request, response }) {
      const lastEventId = readLastEventId(request.headers['last-event-id']?.toString());
      const personId = await persons.of(caller);
      await streams.open({ caller, personId, guildId, response, lastEventId });
      return 'stream';
    },
  };
}

/** Returns the seq after which a browser continues when it connects again. */
function readLastEventId(text = ''): number | undefined {
  if (text === '') return undefined;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw invalidRequest([{ path: 'header.Last-Event-ID', message: 'must be the id of an event' }]);
}
