/** The connections of one process to others, and what it stores. */
export interface ProcessContract {
  /** The services that it calls over gRPC. */
  readonly calls: readonly string[];
  /** The services to which it forwards REST requests, with a sealed principal. */
  readonly proxies: readonly string[];
  /** True if it serves REST routes behind the gateway. */
  readonly servesHttp: boolean;
  /** The purposes for which it has a key to encrypt or sign stored rows. A name must not change while rows exist. */
  readonly stores: readonly string[];
}

/**
 * Every process that serves requests, and the processes that it calls. The keys of each process are derived from this
 * table (services/kit/security/purposes.ts), and so are the addresses that `npm start` and the chart pass to it.
 */
export const PROCESSES = {
  auth: {
    calls: ['lookup', 'bindings', 'members', 'activity', 'moderation', 'events'],
    proxies: [],
    servesHttp: true,
    stores: ['audit-checkpoint'],
  },
  lookup: { calls: ['events'], proxies: [], servesHttp: true, stores: [] },
  bindings: { calls: ['lookup', 'events'], proxies: [], servesHttp: true, stores: ['idempotency'] },
  members: {
    calls: ['lookup', 'bindings', 'events'],
    proxies: [],
    servesHttp: true,
    stores: ['idempotency', 'verification-token'],
  },
  activity: { calls: ['lookup', 'members', 'events'], proxies: [], servesHttp: true, stores: ['idempotency'] },
  moderation: { calls: ['lookup', 'activity', 'events'], proxies: [], servesHttp: true, stores: ['idempotency'] },
  events: { calls: [], proxies: [], servesHttp: true, stores: ['idempotency', 'webhook-secret'] },
  gateway: {
    calls: ['auth'],
    proxies: ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'],
    servesHttp: false,
    stores: [],
  },
} as const satisfies Record<string, ProcessContract>;
