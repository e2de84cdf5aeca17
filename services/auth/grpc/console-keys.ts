import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { ConsoleAction } from '#proto/console/roles.ts';
import type { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Caller as CallerMessage, ConsoleServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { guildId } from '#proto/rest/schemas.ts';
import type { ConsoleSessions } from '../domain/console/sessions.ts';
import { parseKeyId } from '../domain/key.ts';
import { consoleRequests } from './console-requests.ts';
import { personCalls } from './person-calls.ts';

type Methods = GrpcHandlers<typeof ConsoleServiceService>;
/** The methods of operators that persons use for their own guild. */
export type KeyMethods = Pick<
  GrpcHandlers<typeof KeyAdminServiceService>,
  'createKey' | 'listKeys' | 'updateKey' | 'rotateKey' | 'revokeKey' | 'listAudit'
>;
type KeyMethod =
  | 'listGuildKeys'
  | 'createGuildKey'
  | 'updateGuildKey'
  | 'rotateGuildKey'
  | 'revokeGuildKey'
  | 'listGuildAudit';

/** The person of the call is in the audit entry, so there is no note. */
const NO_NOTE = { actor: '' };

/** The methods for the keys and the audit of a guild: those of operators, for a person whose role allows them. */
export function consoleKeyMethods(sessions: ConsoleSessions, admin: KeyMethods): Pick<Methods, KeyMethod> {
  const { asPerson } = personCalls(sessions);
  const inGuild = <Result>(
    message: { caller?: CallerMessage | undefined; guildId: string },
    action: ConsoleAction,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    const { caller, guildId } = checked(consoleRequests.inGuild, message);
    return asPerson(caller, guildId, action, work);
  };
  const ofKey = <Result>(
    { caller, keyId }: { caller?: CallerMessage | undefined; keyId: string },
    work: () => Promise<Result>,
  ): Promise<Result> => inGuild({ caller, guildId: guildOfKey(keyId) }, 'keys.write', work);
  return {
    listGuildKeys: async (message) => {
      const { limit, cursor } = checked(consoleRequests.page, message);
      const list = () => admin.listKeys({ guildId: message.guildId, limit, cursor });
      return inGuild(message, 'keys.read', list);
    },
    createGuildKey: async ({ caller, key }) => {
      const request = required(key);
      // Persons create no legacy keys, which have all scopes.
      const create = () => admin.createKey({ ...request, ...NO_NOTE, legacy: false });
      return inGuild({ caller, guildId: request.guildId }, 'keys.write', create);
    },
    updateGuildKey: async ({ caller, key }) => {
      const request = required(key);
      return ofKey({ caller, keyId: request.keyId }, () => admin.updateKey({ ...request, ...NO_NOTE }));
    },
    rotateGuildKey: async ({ caller, key }) => {
      const request = required(key);
      return ofKey({ caller, keyId: request.keyId }, () => admin.rotateKey({ ...request, ...NO_NOTE }));
    },
    revokeGuildKey: async ({ caller, key }) => {
      const request = required(key);
      return ofKey({ caller, keyId: request.keyId }, () => admin.revokeKey({ ...request, ...NO_NOTE }));
    },
    listGuildAudit: async (message) => {
      const { limit, cursor, since } = checked(consoleRequests.page, message);
      const list = () => admin.listAudit({ guildId: message.guildId, since, limit, cursor, isInstallation: false });
      return inGuild(message, 'audit.read', list);
    },
  };
}

function required<Message>(message: Message | undefined): Message {
  if (message === undefined) throw invalidRequest([{ path: 'request.key', message: 'is required' }]);
  return message;
}

/** Returns the guild of a key, by whose role the call is allowed. Throws NOT_FOUND if the text is no ID of a key. */
function guildOfKey(keyId: string): string {
  const key = parseKeyId(keyId);
  if (!key || !guildId.safeParse(key.guildId).success) throw new ApiError('NOT_FOUND');
  return key.guildId;
}
