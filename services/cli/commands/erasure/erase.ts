import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { ACTOR_OPTION, type Command, type Input, type Output, type Terminal } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { table } from '../../text.ts';
import { type EraseBatch, Erasing, type RemovedRows } from './erasing.ts';
import { guildsWithProgress } from './guilds-of-user.ts';
import {
  type Account,
  type Accounts,
  accountsDocument,
  accountsOf,
  linkedAccounts,
  meansEveryGuild,
  readUser,
  USER_OPTIONS,
  USER_USAGE,
} from './user-accounts.ts';

const CONFIRM_OPTIONS = { 'dry-run': { type: 'boolean' }, yes: { type: 'boolean' } } as const;
const CONFIRM_NOTES = [
  '--dry-run        count the rows, and change nothing',
  '--yes            erase; this cannot be undone. After an interruption repeat the command to continue',
];

const eraseGuild: Command = {
  name: 'guild erase',
  usage: '--guild ID (--dry-run | --yes) [--actor NOTE]',
  notes: [
    ...CONFIRM_NOTES,
    'These stay: the audit entries without their details, and the number of the next key of the guild. Keys are deleted',
    '15 s after they were revoked, when all gateways have received the change. Counters in Redis expire within 2 minutes.',
  ],
  options: { guild: { type: 'string' }, ...CONFIRM_OPTIONS, ...ACTOR_OPTION },
  run: async (input, connections, terminal) => {
    const guildId = input.requiredText('guild');
    const dryRun = readDryRun(input);
    input.check();
    const eraseBatch: EraseBatch = (client, dry) => client.eraseGuild({ guildId, dryRun: dry });
    const erasing = new Erasing({ connections, terminal, eraseBatch });
    if (dryRun) return output({ guild_id: guildId }, true, await erasing.count());
    const auth = connections.admin(KeyAdminServiceService, 'auth');
    await auth.revokeGuildKeys({ guildId, actor: input.note });
    const report = { guildId, what: 'guild', actor: input.note };
    return output({ guild_id: guildId }, false, await eraseWithAudit(connections, report, erasing));
  },
};

const eraseUser: Command = {
  name: 'user erase',
  usage: `${USER_USAGE} (--dry-run | --yes) [--actor NOTE]`,
  notes: [
    ...CONFIRM_NOTES,
    '--everywhere     erase from all guilds in which a service has rows about the user, and rows about all guilds',
    'The linked account is erased too. Bans and mutes of the user end, but game servers are not notified: lift them first',
    'to notify game servers. Roles on the chat platform stay: unlink the account first to remove them. Decisions of the',
    'user as a moderator stay without the name. Encrypted responses to repeated writes are deleted within a day.',
  ],
  options: { ...USER_OPTIONS, ...CONFIRM_OPTIONS, ...ACTOR_OPTION },
  run: async (input, connections, terminal) => {
    const { guildId, account } = readUser(input);
    const dryRun = readDryRun(input);
    input.check();
    const request = { account, dryRun, note: input.note, connections, terminal };
    if (guildId === undefined) return eraseEverywhere(request);
    const { accounts, removed } = await eraseFromGuild(guildId, request);
    return output({ guild_id: guildId, ...accountsDocument(accounts) }, dryRun, removed);
  },
};

export const eraseCommands: readonly Command[] = [eraseGuild, eraseUser];

interface UserErasure {
  account: Account;
  dryRun: boolean;
  note: string;
  connections: Connections;
  terminal: Terminal;
}

/**
 * Erases a user from one guild; in a dry run counts the rows instead. All services are called, because the account that
 * is linked to the selected one may occur in other services.
 */
async function eraseFromGuild(
  guildId: string,
  { account, dryRun, note, connections, terminal }: UserErasure,
): Promise<{ accounts: Accounts; removed: RemovedRows[] }> {
  const accounts = await linkedAccounts(connections, guildId, account);
  const eraseBatch: EraseBatch = (client, dry) => client.eraseUser({ guildId, ...accounts, dryRun: dry });
  const erasing = new Erasing({ connections, terminal, eraseBatch });
  if (dryRun) return { accounts, removed: await erasing.count() };
  // Rows about all guilds belong to no guild in whose audit the erasure could be recorded. The call of each service is
  // audited in any case.
  const removed = meansEveryGuild(guildId)
    ? await erasing.run()
    : await eraseWithAudit(connections, { guildId, what: 'user', actor: note }, erasing);
  return { accounts, removed };
}

/** Erases a user from all guilds. If an erasure was interrupted, repeating it finds the remaining rows. */
async function eraseEverywhere(request: UserErasure): Promise<Output> {
  const { account, dryRun, connections, terminal } = request;
  const removed = new Map<string, RemovedRows>();
  let guilds = 0;
  for await (const guildId of guildsWithProgress(connections, account, terminal)) {
    guilds++;
    for (const each of (await eraseFromGuild(guildId, request)).removed) {
      removed.set(each.table, { ...each, rows: (removed.get(each.table)?.rows ?? 0) + each.rows });
    }
  }
  const user = { everywhere: true, ...accountsDocument(accountsOf(account)), guilds };
  return output(user, dryRun, [...removed.values()]);
}

/** Records an erasure in the audit before it starts, and records its result after it has ended. */
async function eraseWithAudit(
  connections: Connections,
  report: { guildId: string; what: string; actor: string },
  erasing: Erasing,
): Promise<RemovedRows[]> {
  const auth = connections.admin(KeyAdminServiceService, 'auth');
  await auth.recordErasure({ ...report, state: 'begun', removed: [] });
  const removed = await erasing.run();
  const rows = removed.map((each) => ({ table: each.table, rows: each.rows }));
  await auth.recordErasure({ ...report, state: 'done', removed: rows });
  return removed;
}

/** Reads `--dry-run` and `--yes`; returns true for `--dry-run`. Adds a fault unless exactly one of the two is given. */
const readDryRun = (input: Input) => input.oneOf('dry-run', 'yes') === 'dry-run';

function output(subject: Record<string, unknown>, dryRun: boolean, removed: readonly RemovedRows[]): Output {
  const total = removed.reduce((sum, { rows }) => sum + rows, 0);
  const document = { ...subject, dry_run: dryRun, removed, total };
  if (total === 0) return { document, text: dryRun ? 'There is nothing to erase.' : 'Nothing was left to erase.' };
  const rows = removed.map((each) => [each.service, each.table, String(each.rows)]);
  const summary = dryRun ? `Nothing was changed. There are ${total} rows` : `Removed: ${total} rows`;
  return { document, text: `${summary}\n\n${table(['SERVICE', 'TABLE', 'ROWS'], rows)}` };
}
