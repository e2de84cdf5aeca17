const PLANS = 'expects the plans of plain PostgreSQL';
const STATEMENTS = 'changes rows with statements that Citus rejects, such as those with a time plus an interval';
const UNKNOWN = 'one of its tests fails on a cluster, and the cause is not known yet';
const TRIGGERS = 'creates triggers or functions in one query with other statements';

/**
 * Test files that `npm run test:citus` leaves out, because one or more of their tests fail on a cluster, with the reason. Most of these tests
 * check a property of plain PostgreSQL, such as its query plans, or change rows with statements that Citus rejects.
 */
export const EXCLUDED: Readonly<Record<string, string>> = {
  'deploy/bundle/app.test.ts': UNKNOWN,
  'deploy/database-roles.test.ts': UNKNOWN,
  'deploy/migrate.test.ts': 'migrates a database without Citus, whose messages name other sessions',
  'services/activity/bounds.test.ts': TRIGGERS,
  'services/activity/heartbeats.long.test.ts': 'reads statistics of the coordinator, which has no rows',
  'services/activity/store/reads.test.ts': PLANS,
  'services/activity/store/store.test.ts': PLANS,
  'services/activity/store/wake-ups.long.test.ts': PLANS,
  'services/auth/domain/audit/audit.test.ts': STATEMENTS,
  'services/auth/events.test.ts': PLANS,
  'services/auth/store/interactions.long.test.ts': PLANS,
  'services/auth/store/keys.test.ts': PLANS,
  'services/auth/store/requests.test.ts': PLANS,
  'services/auth/watch.long.test.ts': TRIGGERS,
  'services/bindings/store/bindings.test.ts': PLANS,
  'services/cli/commands/operators.test.ts': STATEMENTS,
  'services/events/audit.test.ts': PLANS,
  'services/events/deliveries.long.test.ts':
    'measures time on one server; three servers of a cluster share its processors',
  'services/events/store/log.test.ts': PLANS,
  'services/events/store/streams.test.ts': PLANS,
  'services/events/store/webhook-statements.test.ts': PLANS,
  'services/lookup/domain/link-reads.test.ts': 'counts statements, and a cluster gets one for each guild',
  'services/lookup/store/links.test.ts': PLANS,
  'services/members/crossing.test.ts': STATEMENTS,
  'services/kit/postgres/hosts/primary-finder.test.ts': 'starts servers without Citus',
  'services/kit/postgres/migrate-locks.test.ts':
    'migrates a database without Citus, whose messages name other sessions',
  'services/kit/queue/statements.test.ts': PLANS,
  'services/members/domain/role-tasks.test.ts': 'reads statistics of the coordinator, which has no rows',
  'services/members/lock-order.test.ts': STATEMENTS,
  'services/members/store/mirror.long.test.ts': PLANS,
  'services/members/store/plans.long.test.ts': PLANS,
  'services/members/store/roles.test.ts': PLANS,
  'services/members/store/store.test.ts': PLANS,
  'services/members/store/sync-jobs.test.ts': PLANS,
  'services/moderation/lists.test.ts':
    'expects the exact server_time; on a cluster transactions that only read count too',
  'services/moderation/store/mirror.long.test.ts': PLANS,
  'services/moderation/store/store.test.ts': PLANS,
  'test/failure/interactions.test.ts': UNKNOWN,
};
