/** What one process takes part in, as far as others must know it. */
export interface ProcessContract {
  /** The services that it calls over gRPC. */
  readonly calls: readonly string[];
  /** The services to whose REST routes it forwards requests, with a sealed principal. */
  readonly proxies: readonly string[];
  /** Whether it serves REST routes behind the gateway. */
  readonly servesHttp: boolean;
  /** What it stores under a key of its own: names of purposes, which never change while rows are kept. */
  readonly stores: readonly string[];
}

/**
 * Every process that serves requests, and who calls whom. The keys of each process follow from this table
 * (services/kit/security/purposes.ts), and so do the addresses that `npm start` and the chart give it.
 */
export const PROCESSES = {
  auth: { calls: [], proxies: [], servesHttp: false, stores: ['audit-checkpoint'] },
  lookup: { calls: [], proxies: [], servesHttp: true, stores: [] },
  bindings: { calls: ['lookup'], proxies: [], servesHttp: true, stores: ['idempotency'] },
  members: {
    calls: ['lookup', 'bindings'],
    proxies: [],
    servesHttp: true,
    stores: ['idempotency', 'verification-token'],
  },
  activity: { calls: ['lookup', 'members'], proxies: [], servesHttp: true, stores: ['idempotency'] },
  moderation: { calls: ['activity'], proxies: [], servesHttp: true, stores: ['idempotency'] },
  gateway: {
    calls: ['auth'],
    proxies: ['lookup', 'bindings', 'members', 'activity', 'moderation'],
    servesHttp: false,
    stores: [],
  },
} as const satisfies Record<string, ProcessContract>;
