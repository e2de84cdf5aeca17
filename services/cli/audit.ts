import { type AuditEntry, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Command } from './command.ts';
import { table, time } from './text.ts';

const list: Command = {
  name: 'audit list',
  summary: 'who did what to which key, and what was erased, the newest first, at most 1000',
  usage: '--guild ID [--since UNIX]',
  options: { guild: { type: 'string' }, since: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const since = input.wholeNumber('since', { min: 0, max: Number.MAX_SAFE_INTEGER });
    input.check();
    const admin = connections.admin(KeyAdminServiceService, 'auth');
    const { entries } = await admin.listAudit({ guildId, since, limit: 0 });
    const headings = ['TIME', 'ACTOR', 'ACTION', 'KEY', 'DETAILS'];
    const rows = entries.map((entry) => [time(entry.at), entry.actor, entry.action, entry.keyId || '-', entry.details]);
    const text = entries.length > 0 ? table(headings, rows) : 'Nothing was done to keys of this guild.';
    return { document: { entries: entries.map(entryDocument) }, text };
  },
};

export const auditCommands: readonly Command[] = [list];

function entryDocument({ id, at, actor, action, keyId, details }: AuditEntry) {
  return { id, at, actor, action, key_id: keyId || null, details: JSON.parse(details) as unknown };
}
