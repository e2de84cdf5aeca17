import { z } from 'zod';
import { requestIdOf } from '#kit/http/request-id.ts';
import { GUILD_ROLES } from '#proto/console/roles.ts';
import { chatId, guildId, text } from '#proto/rest/schemas.ts';

const MAX_TARGET = 8_192;
const MAX_SESSIONS = 1_000;
const MAX_PAGE = 100;

const address = z.string().max(64);
const userAgent = z.string().max(2_000);
// A token of another length belongs to no session.
const token = z.string().max(200);
const caller = z.object({ sessionToken: token, address, requestId: z.string().transform(requestIdOf) });
const role = z.enum(GUILD_ROLES, { error: `must be one of ${GUILD_ROLES.join(', ')}` });
const limit = z
  .int()
  .min(0)
  .max(MAX_PAGE, { error: `must be 1 to ${MAX_PAGE}` })
  .transform((value) => value || MAX_PAGE);
const cursor = z.string().max(2_100);
const accounts = {
  chatId: chatId.optional(),
  gameId: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
};
const hasAccount = (person: { chatId?: string | undefined; gameId?: number | undefined }) =>
  person.chatId !== undefined || person.gameId !== undefined;
const missingAccount = { path: ['chatId'], error: 'or gameId is required' };

/** The schemas of the console's requests. */
export const consoleRequests = {
  useLink: z.object({ linkToken: token, address, userAgent }),
  session: z.object({ caller }),
  checkSessions: z.object({
    sessions: z.array(z.object({ sessionToken: token, guildId: z.string().max(20) })).max(MAX_SESSIONS, {
      error: `must hold at most ${MAX_SESSIONS}`,
    }),
  }),
  endSessions: z.object({
    caller,
    sessionId: z.union([z.literal(''), z.uuid({ error: 'must be the ID of a session' })]),
    all: z.boolean(),
  }),
  signRequest: z.object({ caller, guildId, method: z.string().max(20), target: z.string().max(MAX_TARGET) }),
  inGuild: z.object({ caller, guildId }),
  page: z.object({ caller, guildId, limit, cursor, since: z.int().min(0).optional() }),
  setAccess: z.object({ caller, guildId, chatId, role }),
  removeAccess: z.object({ caller, guildId, chatId }),
  exportPerson: z.object({ caller, guildId, ...accounts, cursor }).refine(hasAccount, missingAccount),
  erasePerson: z.object({ caller, guildId, ...accounts, dryRun: z.boolean() }).refine(hasAccount, missingAccount),
};

/** The schema of an operator's request for a link. */
export const linkRequest = z.object({
  guild_id: guildId,
  role: z.union([z.literal('').transform(() => 'owner' as const), role]),
  note: text(0, 100),
});
