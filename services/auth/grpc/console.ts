import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type {
  Access as AccessMessage,
  ConsoleAdminServiceService,
  ConsoleServiceService,
  Session,
} from '#proto/gen/guild/auth/v1/console.ts';
import type { Access } from '../domain/console/access.ts';
import type { Links } from '../domain/console/links.ts';
import type { PersonalData } from '../domain/console/personal-data.ts';
import type { RequestSigner } from '../domain/console/request-signer.ts';
import type { ConsoleSession, ConsoleSessions } from '../domain/console/sessions.ts';
import type { Joins } from '../domain/sign-in/joins.ts';
import type { SignIn } from '../domain/sign-in/sign-in.ts';
import type { AccessRow } from '../store/console/access.ts';
import { consoleKeyMethods, type KeyMethods } from './console-keys.ts';
import { consoleRequests, linkRequest } from './console-requests.ts';
import { joinHandlers } from './joins.ts';
import { personCalls } from './person-calls.ts';
import { signInHandlers } from './sign-in.ts';

type Methods = GrpcHandlers<typeof ConsoleServiceService>;

export interface ConsoleHandlersOptions {
  sessions: ConsoleSessions;
  links: Links;
  signer: RequestSigner;
  access: Access;
  personalData: PersonalData;
  /** The methods of operators for keys and the audit, which persons use too. */
  admin: KeyMethods;
  signIn: SignIn;
  joins: Joins;
}

/** The methods of the gRPC service ConsoleService, which only the console calls. */
export function consoleHandlers(options: ConsoleHandlersOptions): Methods {
  const { sessions, admin, signIn, joins } = options;
  return {
    ...signInHandlers(signIn),
    ...joinHandlers(joins),
    ...sessionMethods(options),
    ...accessMethods(options),
    ...consoleKeyMethods(sessions, admin),
    ...personalDataMethods(options),
  };
}

type SessionMethod = 'useLink' | 'getSession' | 'checkSessions' | 'listSessions' | 'endSessions' | 'signRequest';

function sessionMethods({ sessions, links, signer }: ConsoleHandlersOptions): Pick<Methods, SessionMethod> {
  return {
    useLink: async (message) => {
      const { linkToken, ...request } = checked(consoleRequests.useLink, message);
      const { token, expiresAt, returnTo } = await links.use(linkToken, request);
      return { sessionToken: token, expiresAt: unixSeconds(expiresAt), returnTo };
    },
    getSession: async (message) => {
      const { caller } = checked(consoleRequests.session, message);
      const { session, guilds } = await sessions.describe(caller.sessionToken);
      return {
        person: { id: session.personId, name: session.personName },
        guilds: guilds.map(({ guildId, name, role }) => ({ guildId, guildName: name, role })),
        expiresAt: unixSeconds(session.expiresAt),
        sessionId: session.sessionId,
        isOperator: session.isOperator,
      };
    },
    checkSessions: async (message) => {
      const request = checked(consoleRequests.checkSessions, message);
      const asked = request.sessions.map(({ sessionToken: token, guildId }) => ({ token, guildId }));
      return { roles: (await sessions.check(asked)).map((role) => role ?? '') };
    },
    listSessions: async (message) => {
      const { caller } = checked(consoleRequests.session, message);
      const { current, sessions: found } = await sessions.list(caller.sessionToken);
      return { sessions: found.map((session) => sessionView(session, current)) };
    },
    endSessions: async (message) => {
      const { caller, sessionId, all } = checked(consoleRequests.endSessions, message);
      const one = sessionId === '' ? 'current' : { sessionId };
      return { ended: await sessions.end(caller.sessionToken, all ? 'all' : one) };
    },
    signRequest: async (message) => {
      const { caller, guildId, method, target } = checked(consoleRequests.signRequest, message);
      const { sessionToken: token, requestId, address } = caller;
      const signed = await signer.sign({ token, guildId, method, target, requestId, address });
      const { route, principal, personId, role } = signed;
      return { service: route.service, route: route.name, principal, personId, role };
    },
  };
}

type AccessMethod = 'listAccess' | 'setAccess' | 'removeAccess';

function accessMethods({ sessions, access }: ConsoleHandlersOptions): Pick<Methods, AccessMethod> {
  const { asPerson } = personCalls(sessions);
  return {
    listAccess: async (message) => {
      const { caller, guildId } = checked(consoleRequests.inGuild, message);
      const rows = await asPerson(caller, guildId, 'access.read', () => access.list(guildId));
      return { access: rows.map(accessView) };
    },
    setAccess: async (message) => {
      const { caller, guildId, chatId, role } = checked(consoleRequests.setAccess, message);
      const set = () => access.set(guildId, chatId, role);
      return { access: accessView(await asPerson(caller, guildId, 'access.write', set)) };
    },
    removeAccess: async (message) => {
      const { caller, guildId, chatId } = checked(consoleRequests.removeAccess, message);
      await asPerson(caller, guildId, 'access.write', () => access.remove(guildId, chatId));
      return {};
    },
  };
}

type PersonalDataMethod = 'exportPerson' | 'erasePerson';

function personalDataMethods(options: ConsoleHandlersOptions): Pick<Methods, PersonalDataMethod> {
  const { sessions, personalData } = options;
  const { asPerson } = personCalls(sessions);
  return {
    exportPerson: async (message) => {
      const { caller, guildId, cursor, ...accounts } = checked(consoleRequests.exportPerson, message);
      return asPerson(caller, guildId, 'person.export', () => personalData.export(guildId, accounts, cursor));
    },
    erasePerson: async (message) => {
      const { caller, guildId, dryRun, ...accounts } = checked(consoleRequests.erasePerson, message);
      return asPerson(caller, guildId, 'person.erase', () => personalData.erase(guildId, accounts, dryRun));
    },
  };
}

/** The methods of the gRPC service ConsoleAdminService, which guildctl calls. */
export function consoleAdminHandlers(links: Links): GrpcHandlers<typeof ConsoleAdminServiceService> {
  return {
    createLink: async ({ guildId, role, actor }) => {
      const { guild_id, ...request } = checked(linkRequest, { guild_id: guildId, role, note: actor });
      const link = await links.create({ guildId: guild_id, ...request });
      return { url: link.url, expiresAt: unixSeconds(link.expiresAt), role: link.role };
    },
  };
}

function sessionView(session: ConsoleSession, current: string): Session {
  const { sessionId: id, createdAt, usedAt, expiresAt, address, userAgent, provider } = session;
  return {
    id,
    isCurrent: id === current,
    createdAt: unixSeconds(createdAt),
    usedAt: unixSeconds(usedAt),
    expiresAt: unixSeconds(expiresAt),
    address,
    userAgent,
    provider,
  };
}

function accessView({ guildId, chatId, role, givenBy, givenAt }: AccessRow): AccessMessage {
  return { guildId, chatId, role, givenBy: givenBy ?? '', givenAt: unixSeconds(givenAt) };
}
