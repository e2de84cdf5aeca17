import { randomBytes, randomUUID } from 'node:crypto';
import { Idempotency } from '#kit/idempotency.ts';
import { Retention, type RetentionRule } from '#kit/retention.ts';
import type { ServiceDefinition } from '#kit/service.ts';
import { Discord } from '#platforms/discord.ts';
import { Roblox } from '#platforms/roblox.ts';
import { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { guildsRoutes } from '#proto/rest/guilds.ts';
import { membersRoutes } from '#proto/rest/members.ts';
import { syncRoutes } from '#proto/rest/sync.ts';
import { type MembersConfig, readMembersConfig } from './config.ts';
import { LinkChanges } from './domain/changes.ts';
import { MemberLocks } from './domain/member-locks.ts';
import { Members } from './domain/members.ts';
import { Nicknames } from './domain/nicknames.ts';
import { RoleSync } from './domain/role-sync.ts';
import { RoleTasks } from './domain/role-tasks.ts';
import { Sweep } from './domain/sweep.ts';
import { VerificationTokens } from './domain/tokens.ts';
import { Verification } from './domain/verification.ts';
import { MembersEvents } from './events.ts';
import { membersMethods } from './grpc.ts';
import { guildsHandlers } from './http/guilds.ts';
import { syncHandlers } from './http/sync.ts';
import { verificationHandlers } from './http/verification.ts';

/** Bindings answers within 7 s. */
const EVALUATE_MS = 7_500;

/** Verifies players and changes links; reads who is in a guild, and makes members follow the game. */
export const membersService: ServiceDefinition<MembersConfig> = {
  name: 'members',
  readConfig: readMembersConfig,
  build(service) {
    const { config, metrics, log, ring, breakers, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const lookup = service.client(LookupServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS);
    const bindings = service.client(BindingsServiceService, 'bindings', config.BINDINGS_GRPC_ADDRESS, {
      deadlineMs: EVALUATE_MS,
    });
    const game = new Roblox({ config, breakers, metrics, clock });
    const chat = new Discord({ config, breakers, metrics, clock, log });

    const events = new MembersEvents(metrics, log);
    const idempotency = new Idempotency({
      schema: 'members',
      database,
      ring,
      clock,
      keptSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
    });
    const tokens = new VerificationTokens({ database, idempotency, ring, clock, random: randomBytes, events });
    const members = new Members(chat, lookup);
    const locks = new MemberLocks(database, clock, randomUUID);
    const roles = new RoleSync({ database, idempotency, locks, lookup, bindings, chat, clock, events });
    const roleTasks = new RoleTasks(database, roles, clock, randomUUID, events);
    const changes = new LinkChanges({
      database,
      idempotency,
      lookup,
      clock,
      newOperationId: randomUUID,
      roleTasks,
      events,
    });
    const verification = new Verification(tokens, changes, game, events);
    const nicknames = new Nicknames({ idempotency, lookup, bindings, chat, game, events });

    lifecycle.add(new Sweep('changes of links', changes, log));
    lifecycle.add(new Sweep('roles', roleTasks, log));
    lifecycle.add(new Retention(database, retentionRules(config), clock, log));
    service.serveInternal(service.serveGrpc(config), MembersServiceService, membersMethods(members));
    service.serveHttp(
      config,
      { ...membersRoutes, ...guildsRoutes, ...syncRoutes },
      {
        ...verificationHandlers({ lookup, tokens, verification }),
        ...guildsHandlers(members),
        ...syncHandlers(roles, nicknames),
      },
    );
  },
};

/** Which rows go when. */
export const retentionRules = (config: MembersConfig): RetentionRule[] => [
  { table: 'members.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
  { table: 'members.verification_tokens', column: 'expires_at', seconds: config.RETENTION_TOKENS_SECONDS },
  // Locks of processes that died.
  { table: 'members.member_locks', column: 'held_until', seconds: 3600 },
  { table: 'members.role_tasks', column: 'created_at', seconds: config.RETENTION_ROLE_TASKS_SECONDS },
  { table: 'members.intents', column: 'finished_at', seconds: config.RETENTION_INTENTS_SECONDS },
];
