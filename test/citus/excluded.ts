/** What `npm run test:citus` leaves out. */
export interface Exclusion {
  reason: string;
  /** The full names of the tests that are skipped; without it the whole file is left out. */
  tests?: RegExp;
}

const PLANS = 'expects query plans, prepared statements or statistics of plain PostgreSQL';
const CLOCK = 'sets the clock of the coordinator, but workers compare times in reading statements with their own';

/**
 * Tests that fail on a cluster, by file. They check properties of plain PostgreSQL, or what they do before or after a step
 * needs it.
 */
export const EXCLUDED: Readonly<Record<string, Exclusion>> = {
  'deploy/database-roles.test.ts': {
    reason: 'the servers of the cluster accept each password',
    tests: /^preparing again changes nothing/,
  },
  'deploy/migrate.test.ts': { reason: 'migrates a database without Citus, whose messages name other sessions' },
  'services/activity/heartbeats.long.test.ts': { reason: PLANS, tests: /^heartbeats of / },
  'services/activity/store/reads.test.ts': {
    reason: PLANS,
    tests: /the list of (?:all|ended) sessions|^counting the commands/,
  },
  'services/activity/store/store.test.ts': {
    reason: PLANS,
    tests:
      /(?:saveAdmissions|reserveCommands|insert(?:Server|Shared)Command(?:, late)?|insertGame|leaseCommands|readUnacknowledged|endSilent|claimExpiredCommands) uses only|generic plan of|^retention finds/,
  },
  'services/activity/store/wake-ups.long.test.ts': { reason: PLANS, tests: /^a request for|^retention/ },
  'services/auth/events.test.ts': { reason: PLANS, tests: /^on 100,000 keys the search/ },
  'services/auth/store/interactions.long.test.ts': {
    reason: PLANS,
    tests: /^insertInteraction|^due commands|^take of|^renewal of|^retention|^the statistics/,
  },
  'services/auth/store/keys.test.ts': {
    reason: PLANS,
    tests: /^no statement scans|^the plan of a verification|^verification uses the indexes|in one statement/,
  },
  'services/auth/store/requests.test.ts': { reason: PLANS, tests: /^the statements use indexes/ },
  'services/bindings/store/bindings.test.ts': { reason: PLANS, tests: /(?:listBindings|insertBinding) uses/ },
  'services/events/deliveries.long.test.ts': {
    reason: 'measures time on one server; three servers of a cluster share its processors',
  },
  'services/events/store/log.test.ts': { reason: PLANS, tests: /^reads use indexes only/ },
  'services/events/store/streams.test.ts': { reason: PLANS, tests: /^the bytes after a seq/ },
  'services/events/store/webhook-statements.test.ts': { reason: PLANS, tests: /the end of an attempt/ },
  'services/kit/postgres/hosts/primary-finder.test.ts': { reason: 'starts servers without Citus' },
  'services/kit/postgres/migrations/migrate-locks.test.ts': {
    reason: 'migrates a database without Citus, whose messages name other sessions',
  },
  'services/kit/queue/statements.test.ts': { reason: PLANS, tests: /(?:heads|due items) of guilds/ },
  'services/lookup/domain/link-reads.test.ts': {
    reason: 'counts statements, and a cluster gets one for each guild',
    tests: /^requests of one turn/,
  },
  'services/lookup/store/links.test.ts': { reason: PLANS, tests: /deleteLink by|generic plan/ },
  'services/members/domain/role-tasks.test.ts': {
    reason: `${PLANS}; ${CLOCK}`,
    tests: /^waiting tasks are not written|growing delays|^the task of a process that died/,
  },
  'services/members/store/mirror.long.test.ts': { reason: PLANS, tests: /^find(?:Guild|Member) finds|^retention/ },
  'services/members/store/plans.long.test.ts': {
    reason: PLANS,
    tests: /^retention|^due |^nextRankPoll|^countReports|^beginInvite/,
  },
  'services/members/store/roles.test.ts': { reason: PLANS, tests: /^due / },
  'services/members/store/store.test.ts': { reason: PLANS, tests: /openIntents|due intents|^the statistics/ },
  'services/members/store/sync-jobs.test.ts': { reason: PLANS, tests: /^due jobs are found/ },
  'services/moderation/ban-mirror-comparisons.test.ts': {
    reason:
      'changes a row of a shard while a transaction that another statement waits for holds the lock of that shard',
    tests: /^of two concurrent claims/,
  },
  'services/moderation/lists.test.ts': {
    reason:
      'expects the exact server_time; on a cluster a transaction that waits for the members service, which these tests do not have, counts as writing',
    tests: /have a time for the next request|^the server time/,
  },
  'services/moderation/store/mirror.long.test.ts': { reason: PLANS, tests: /^due / },
  'services/moderation/store/store.test.ts': {
    reason: PLANS,
    tests:
      /(?:insertPunishment|liftPunishments(?: of all scopes)?|claimExpiredPunishments|heads of the outbox) uses|^the statistics|generic plan/,
  },
};
