import { type EventsArgs, type EventsOptions, events } from './events.ts';
import { OperationMethods } from './operations-methods.ts';
import type { Event } from './operations-types.ts';

/**
 * A client with one method per operation of the API. A bundler cannot leave out methods: where size matters, create a
 * `Client` and import the functions of the operations that you call.
 */
export class GuildData extends OperationMethods {
  /** Returns the events of the guild without an end. See the function `events`. */
  events(args?: EventsArgs, options?: EventsOptions): AsyncGenerator<Event, never, void> {
    return events(this, args, options);
  }
}
