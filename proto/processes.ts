/** The connections of one process to others, and what it stores. */
export interface ProcessContract {
  /** The services that it calls over gRPC. */
  readonly calls: readonly string[];
  /** The services to which it forwards REST requests. */
  readonly forwards: readonly string[];
  /** The services for which it signs the principals of REST requests. */
  readonly signs: readonly string[];
  /** True if it serves REST routes behind the gateway. */
  readonly servesHttp: boolean;
  /** The purposes for which it has a key to encrypt or sign stored rows. A name must not change while rows exist. */
  readonly stores: readonly string[];
}

const SERVICES_BEHIND_AUTH = ['lookup', 'bindings', 'members', 'activity', 'moderation', 'events'] as const;

/**
 * Every process that serves requests, and the processes that it calls. The keys of each process are derived from this
 * table (services/kit/security/purposes.ts), and so are the addresses that `npm start` and the chart pass to it.
 */
export const PROCESSES = {
  auth: {
    calls: SERVICES_BEHIND_AUTH,
    // Slash commands are carried out over REST.
    forwards: ['members', 'activity', 'moderation'],
    // Auth signs the principals of sessions of the console, which it alone can verify.
    signs: ['auth', ...SERVICES_BEHIND_AUTH],
    servesHttp: true,
    stores: ['audit-checkpoint', 'console-credentials', 'interaction-token'],
  },
  lookup: { calls: ['events'], forwards: [], signs: [], servesHttp: true, stores: [] },
  bindings: { calls: ['lookup', 'events'], forwards: [], signs: [], servesHttp: true, stores: ['idempotency'] },
  members: {
    calls: ['lookup', 'bindings', 'events'],
    forwards: [],
    signs: [],
    servesHttp: true,
    stores: ['idempotency', 'verification-token'],
  },
  activity: {
    calls: ['lookup', 'members', 'events'],
    forwards: [],
    signs: [],
    servesHttp: true,
    stores: ['idempotency'],
  },
  moderation: {
    calls: ['lookup', 'members', 'activity', 'events'],
    forwards: [],
    signs: [],
    servesHttp: true,
    stores: ['idempotency'],
  },
  events: { calls: [], forwards: [], signs: [], servesHttp: true, stores: ['idempotency', 'webhook-secret'] },
  gateway: {
    calls: ['auth'],
    forwards: ['auth', ...SERVICES_BEHIND_AUTH],
    signs: ['auth', ...SERVICES_BEHIND_AUTH],
    servesHttp: false,
    stores: [],
  },
  // The console signs nothing: auth signs a principal for each request of a person who is signed in.
  console: { calls: ['auth'], forwards: ['auth', ...SERVICES_BEHIND_AUTH], signs: [], servesHttp: false, stores: [] },
} as const satisfies Record<string, ProcessContract>;
