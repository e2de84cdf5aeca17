import type { ConsoleHandlers } from './endpoint.ts';
import type { SignInParts } from './sign-in.ts';
import { auditView } from './views.ts';

type AuditHandlers = Pick<ConsoleHandlers, 'listAudit' | 'exportPerson' | 'erasePerson'>;

/** Returns the handlers of the endpoints about the audit of a guild and the data of a person in it. */
export function auditHandlers({ auth, slowAuth }: Pick<SignInParts, 'auth' | 'slowAuth'>): AuditHandlers {
  return {
    async listAudit({ caller, params: { guildId }, query: { limit, cursor = '', since } }) {
      const { entries, nextCursor } = await auth.listGuildAudit({ caller, guildId, since, limit, cursor });
      return { data: { entries: entries.map(auditView), next_cursor: nextCursor || null } };
    },
    async exportPerson({ caller, params: { guildId }, body }) {
      const { chat_id: chatId, game_id: gameId, cursor = '' } = body;
      const { rows, nextCursor } = await slowAuth.exportPerson({ caller, guildId, chatId, gameId, cursor });
      const views = rows.map(({ table, row }) => ({ table, row: JSON.parse(row) as Record<string, unknown> }));
      return { data: { rows: views, next_cursor: nextCursor || null } };
    },
    async erasePerson({ caller, params: { guildId }, body }) {
      const { chat_id: chatId, game_id: gameId, dry_run: dryRun } = body;
      const { tables, isDone } = await slowAuth.erasePerson({ caller, guildId, chatId, gameId, dryRun });
      return { data: { tables, is_done: isDone } };
    },
  };
}
