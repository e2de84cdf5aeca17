import { randomBytes } from 'node:crypto';
import type { DefinitionShape, MethodShape } from '#kit/grpc/definition.ts';
import { createTicket, digestOf, TICKET_HEADER } from '#kit/grpc/operators.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { CONSOLE_KEY } from '#kit/security/principal.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import { JoinServiceService } from '#proto/gen/guild/members/v1/joins.ts';
import type { AuthConfig } from './config.ts';
import { ConsoleTelemetry } from './console-telemetry.ts';
import { Access } from './domain/console/access.ts';
import { Links } from './domain/console/links.ts';
import { type PersonAccounts, PersonalData, type ServiceData } from './domain/console/personal-data.ts';
import { RequestSigner } from './domain/console/request-signer.ts';
import { Rights } from './domain/console/rights.ts';
import { ConsoleSessions } from './domain/console/sessions.ts';
import { GuildAdmin } from './domain/guilds.ts';
import { KeyAdmin } from './domain/keys.ts';
import { Joins } from './domain/sign-in/joins.ts';
import { PendingSignIns } from './domain/sign-in/pending.ts';
import { ProviderRoles } from './domain/sign-in/provider-roles.ts';
import { SignIn } from './domain/sign-in/sign-in.ts';
import type { KeyEvents } from './events.ts';
import { keyAdminHandlers } from './grpc/admin.ts';
import { joinClient, signInProviders } from './sign-in-providers.ts';
import { limitedDatabase } from './store/console/limited-database.ts';
import type { AuthTelemetry } from './telemetry.ts';

/** Longer than a service works on one batch of an erasure. */
const ERASURE_DEADLINE_MS = 4_000;
/** Longer than members takes to evaluate the bindings of a person and to call the chat platform. */
const JOIN_DEADLINE_MS = 10_000;
/** Short, so that a request fails fast while a service is down. */
const ERASURE_CONNECT_MS = 500;

export interface ConsolePartsOptions {
  /** The database pool of the service, of which the console uses a part. */
  database: Database;
  events: KeyEvents;
  telemetry: AuthTelemetry;
  /** Returns the methods that export and erase the rows of the auth service itself. */
  own: (database: Database) => Omit<ServiceData, 'service'>;
}

/** Creates the parts of the auth service that serve the console. */
export function buildConsole(service: ServiceContext<AuthConfig>, options: ConsolePartsOptions) {
  const { config, metrics, log, clock, processClock, ring, breakers } = service;
  const database = limitedDatabase(options.database);
  const telemetry = new ConsoleTelemetry(metrics, log);
  const shared = { database, clock, telemetry, random: randomBytes };
  const platform = { breakers, metrics, clock };
  const providers = signInProviders(config, platform);
  const pending = new PendingSignIns(shared);
  const rights = new Rights({ ...shared, ring, roles: new ProviderRoles(providers) });
  const sessions = new ConsoleSessions({ ...shared, rights, isAnyGuildAllowed: config.CONSOLE_ANY_GUILD });
  const keys = new KeyAdmin({ ...shared, telemetry: options.telemetry, events: options.events });
  const access = new Access(shared);
  const guilds = new GuildAdmin({ ...shared, telemetry: options.telemetry });
  return {
    sessions,
    links: new Links({ ...shared, sessions, consoleUrl: config.CONSOLE_URL }),
    signer: new RequestSigner({ sessions, ring, clock: processClock, telemetry }),
    signIn: new SignIn({ pending, providers, sessions, telemetry }),
    joins: new Joins({
      pending,
      discord: joinClient(config, platform),
      members: service.client(JoinServiceService, 'members', config.MEMBERS_GRPC_ADDRESS, {
        dependency: 'members-joins',
        deadlineMs: JOIN_DEADLINE_MS,
        repeatable: ['checkJoin'],
      }),
    }),
    access,
    personalData: new PersonalData({ ...personalDataClients(service, options.own(database)), keys, access }),
    admin: keyAdminHandlers({ database, keys, guilds, ring, clock }),
  };
}

/** Creates the clients that export and erase personal data, each call with a ticket that auth issues to itself. */
function personalDataClients(service: ServiceContext<AuthConfig>, own: Omit<ServiceData, 'service'>) {
  const { config, ring, processClock } = service;
  const client = <Definition extends DefinitionShape>(definition: Definition, name: string, address: string) =>
    service.client(definition, name, address, {
      dependency: `${name}-erasure`,
      deadlineMs: ERASURE_DEADLINE_MS,
      connectMs: ERASURE_CONNECT_MS,
      headers: async ({ path: method }: MethodShape, request: Buffer) => {
        const call = { service: name, method, operator: CONSOLE_KEY, digest: digestOf(request) };
        return { [TICKET_HEADER]: createTicket(ring, call, processClock.now()) };
      },
    });
  const data = (name: string, address: string): ServiceData => ({
    service: name,
    ...client(ErasureServiceService, name, address),
  });
  const links = client(LinkAdminServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS);
  return {
    services: [
      data('moderation', config.MODERATION_GRPC_ADDRESS),
      data('activity', config.ACTIVITY_GRPC_ADDRESS),
      data('members', config.MEMBERS_GRPC_ADDRESS),
      data('bindings', config.BINDINGS_GRPC_ADDRESS),
      { service: 'auth', ...own },
      data('events', config.EVENTS_GRPC_ADDRESS),
      data('lookup', config.LOOKUP_GRPC_ADDRESS),
    ],
    findAccounts: async (guildId: string, { chatId, gameId }: PersonAccounts): Promise<PersonAccounts> => {
      if (chatId !== undefined && gameId !== undefined) return { chatId, gameId };
      if (chatId !== undefined) return links.findAccounts({ guildId, account: { $case: 'chatId', value: chatId } });
      return links.findAccounts({ guildId, account: { $case: 'gameId', value: gameId ?? 0 } });
    },
  };
}
