import { EventLogServiceService } from '#proto/gen/guild/events/v1/events.ts';
import type { Database } from '../postgres/pool.ts';
import { queueAdminMethods } from '../queue/admin.ts';
import { NO_LIMITS, type QueueDefinition } from '../queue/definition.ts';
import { QueueWorker } from '../queue/worker.ts';
import type { ProcessConfig, ServiceContext } from '../service/service-context.ts';
import { EventRecorder } from './recorder.ts';
import { EVENTS_QUEUE, eventRelay } from './relay.ts';

type EventsConfig = ProcessConfig & { EVENTS_GRPC_ADDRESS: string };

/**
 * How long a call waits for a connection to the events service. Short, because the queue retries anyway, and because a
 * process that drains waits for its calls.
 */
const CONNECT_MS = 500;

/** Returns the queue that relays the recorded events of a service, whose schema has the service's name. */
export function eventRelayOf(service: ServiceContext<EventsConfig>, database: Database): QueueDefinition {
  const { appendEvents } = service.client(EventLogServiceService, 'events', service.config.EVENTS_GRPC_ADDRESS, {
    repeatable: ['appendEvents'],
    connectMs: CONNECT_MS,
  });
  return eventRelay({ schema: service.name, database, append: appendEvents });
}

/**
 * Creates the recorder of a service that has no other queue than that of its events, the worker of this queue, and the
 * methods with which operators administer it.
 */
export function createEventQueue(service: ServiceContext<EventsConfig>, database: Database) {
  const { name: schema, metrics, log } = service;
  const definitions = [eventRelayOf(service, database)];
  const worker = new QueueWorker(definitions, { database, limits: NO_LIMITS, metrics, log });
  const wake = () => worker.wake(EVENTS_QUEUE);
  const recorder = new EventRecorder({ schema, wake });
  return { recorder, worker, queueAdmin: queueAdminMethods({ database, definitions, log, wake }) };
}
