import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Idempotency } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { ChatInvites, ChatJoins } from '#platforms/chat.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { AutomaticNicknames } from './domain/automatic-nicknames.ts';
import type { JoiningRolesOptions } from './domain/joining-roles.ts';
import type { MemberLocks } from './domain/member-locks.ts';
import { OAuthJoins } from './domain/oauth-joins.ts';
import { RoleInvites } from './domain/role-invites.ts';
import type { RoleTasks } from './domain/role-tasks.ts';
import type { MemberEvents } from './events.ts';
import { JoinTelemetry } from './telemetry/joins.ts';

export interface JoinPartsOptions extends JoiningRolesOptions {
  database: Database;
  idempotency: Idempotency;
  locks: MemberLocks;
  lookup: GrpcClient<typeof LookupServiceService>;
  nicknames: AutomaticNicknames;
  roleTasks: RoleTasks;
  events: MemberEvents;
  /** The chat platform without the mirror, which has nothing of accounts outside of the guild. */
  platform: ChatInvites & ChatJoins;
  metrics: Metrics;
  log: Logger;
}

/** Creates the parts that bring linked accounts into a guild. */
export function buildJoins({ platform, metrics, log, ...options }: JoinPartsOptions) {
  const shared = { ...options, telemetry: new JoinTelemetry(metrics, log) };
  return {
    invites: new RoleInvites({ ...shared, invites: platform }),
    oauthJoins: new OAuthJoins({ ...shared, joins: platform }),
  };
}
