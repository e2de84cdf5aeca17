/**
 * The files whose tests pass on a Citus cluster; `npm run test:citus` runs them. Further files are run with
 * `npm run test:citus -- PATH`.
 */
export const FILES = [
  'test/citus/distribution.citus.test.ts',
  'test/api/activity.test.ts',
  'test/api/audit.test.ts',
  'test/api/authentication-limit.test.ts',
  'test/api/bindings.test.ts',
  'test/api/bytes.test.ts',
  'test/api/console-personal-data.test.ts',
  'test/api/doctor-platforms.test.ts',
  'test/api/erasure.test.ts',
  'test/api/event-streams.test.ts',
  'test/api/gateway.test.ts',
  'test/api/guild-state.test.ts',
  'test/api/interaction-signatures.test.ts',
  'test/api/interactions.test.ts',
  'test/api/key-changes.long.test.ts',
  'test/api/members.test.ts',
  'test/api/metrics.test.ts',
  'test/api/moderation.test.ts',
  'test/api/oauth-joins.test.ts',
  'test/api/polls.long.test.ts',
  'test/api/pushed-commands.long.test.ts',
  'test/api/secrets.test.ts',
  'test/api/security-txt.test.ts',
  'test/api/staff.test.ts',
  'test/api/tls.test.ts',
  'test/api/top.test.ts',
  'test/api/tracing.test.ts',
  'test/api/usage.test.ts',
];
