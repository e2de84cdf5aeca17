import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Command, Input, Output, Screen } from '../command.ts';
import type { Connections } from '../connections.ts';
import { Erasing, type Removed, SERVICES, type Step } from '../erasing.ts';
import { table } from '../text.ts';
import { guildsOfUser } from './guilds-of-user.ts';
import { type Account, accountsIn, given, guildText, readUser, USER_OPTIONS, USER_USAGE } from './user-accounts.ts';

const CONFIRM = { 'dry-run': { type: 'boolean' }, yes: { type: 'boolean' } } as const;
const ACTOR = { actor: { type: 'string' } } as const;
const CONFIRM_NOTES = [
  '--dry-run        count the rows, and change nothing',
  '--yes            erase; there is no way back. Interrupted, it goes on where it was when run again',
];

const eraseGuild: Command = {
  name: 'guild erase',
  summary: 'revoke the keys of a guild and remove all that is stored of it',
  usage: '--guild ID (--dry-run | --yes) [--actor NOTE]',
  notes: [
    ...CONFIRM_NOTES,
    'What stays: in the audit who did which kind of thing and when, without details, and the number of its next key. Keys',
    'are forgotten 15 s after they were revoked, when every gateway was told. Counters in Redis end within two minutes.',
  ],
  options: { guild: { type: 'string' }, ...CONFIRM, ...ACTOR },
  run: async (input, connections, screen) => {
    const guildId = input.requiredText('guild');
    const dryRun = isDryRun(input);
    input.check();
    const step: Step = (client, dry) => client.eraseGuild({ guildId, dryRun: dry });
    const erasing = new Erasing(connections, step, screen);
    if (dryRun) return output({ guild_id: guildId }, true, await erasing.count(SERVICES));
    const audit = connections.admin(KeyAdminServiceService, 'auth');
    await audit.revokeGuildKeys({ guildId, actor: input.note });
    const removed = await recorded(connections, { guildId, what: 'guild', actor: input.note }, () =>
      erasing.run(SERVICES),
    );
    return output({ guild_id: guildId }, false, removed);
  },
};

const eraseUser: Command = {
  name: 'user erase',
  summary: 'remove all that is stored of a user of a guild, or of every guild',
  usage: `${USER_USAGE} (--dry-run | --yes) [--actor NOTE]`,
  notes: [
    ...CONFIRM_NOTES,
    '--everywhere     in every guild in which a service has rows about the user, and in what counts in every guild',
    'The account that it is linked to now is erased too. Bans and mutes of the user end, and game servers are not told:',
    'lift them first where they are to hear of it. Roles on the chat platform stay: unlink first to take them back.',
    'What the user decided as a moderator stands without the name. Encrypted answers to repeated writes go within a day.',
  ],
  options: { ...USER_OPTIONS, ...CONFIRM, ...ACTOR },
  run: async (input, connections, screen) => {
    const { guildId, account } = readUser(input);
    const dryRun = isDryRun(input);
    input.check();
    if (guildId === undefined) return eraseEverywhere(account, dryRun, input, connections, screen);
    const { accounts, removed } = await eraseIn(guildId, account, dryRun, SERVICES, input, connections, screen);
    const who = { guild_id: guildId, chat_id: accounts.chatId ?? null, game_id: accounts.gameId ?? null };
    return output(who, dryRun, removed);
  },
};

export const eraseCommands: readonly Command[] = [eraseGuild, eraseUser];

/** Erases a user from one guild, or counts what would be erased. */
async function eraseIn(
  guildId: string,
  account: Account,
  dryRun: boolean,
  services: readonly string[],
  input: Input,
  connections: Connections,
  screen: Screen,
) {
  const accounts = await accountsIn(connections, guildId, account);
  const step: Step = (client, dry) => client.eraseUser({ guildId, ...accounts, dryRun: dry });
  const erasing = new Erasing(connections, step, screen);
  if (dryRun) return { accounts, removed: await erasing.count(services) };
  const note = { guildId, what: 'user', actor: input.note };
  // What counts in every guild belongs to none: its audit has an entry by each service.
  const removed = /^[1-9]/.test(guildId)
    ? await recorded(connections, note, () => erasing.run(services))
    : await erasing.run(services);
  return { accounts, removed };
}

/**
 * One run over every guild. A guild in which nothing names the user costs no call. The linked account of a guild may occur
 * where no service was found for the given one, so all services are called there. Repeating the run after an interruption
 * finds what is left.
 */
async function eraseEverywhere(
  account: Account,
  dryRun: boolean,
  input: Input,
  connections: Connections,
  screen: Screen,
): Promise<Output> {
  let total = 0;
  for await (const _ of guildsOfUser(connections, given(account))) total++;
  const tables = new Map<string, Removed>();
  let guilds = 0;
  // Listed again while they are erased, not kept: the list goes on behind the guild that was just erased.
  for await (const { guildId } of guildsOfUser(connections, given(account))) {
    guilds++;
    screen.tell(`guild ${guilds} of ${Math.max(guilds, total)}: ${guildText(guildId)}`);
    const { removed } = await eraseIn(guildId, account, dryRun, SERVICES, input, connections, screen);
    for (const each of removed) {
      const rows = (tables.get(each.table)?.rows ?? 0) + each.rows;
      tables.set(each.table, { ...each, rows });
    }
  }
  const accounts = given(account);
  const who = { everywhere: true, chat_id: accounts.chatId ?? null, game_id: accounts.gameId ?? null, guilds };
  return output(who, dryRun, [...tables.values()]);
}

/** The audit says that an erasure was begun before it is, and what it removed. */
async function recorded(
  connections: Connections,
  note: { guildId: string; what: string; actor: string },
  erase: () => Promise<Removed[]>,
): Promise<Removed[]> {
  const audit = connections.admin(KeyAdminServiceService, 'auth');
  await audit.recordErasure({ ...note, state: 'begun', removed: [] });
  const removed = await erase();
  await audit.recordErasure({ ...note, state: 'done', removed: rowsOf(removed) });
  return removed;
}

/** A fault unless exactly one of the two is given. */
const isDryRun = (input: Input) => input.oneOf('dry-run', 'yes') === 'dry-run';

const rowsOf = (removed: readonly Removed[]) => removed.map(({ table: name, rows }) => ({ table: name, rows }));

function output(who: Record<string, unknown>, dryRun: boolean, removed: readonly Removed[]): Output {
  const total = removed.reduce((sum, { rows }) => sum + rows, 0);
  const document = { ...who, dry_run: dryRun, removed, total };
  const what = dryRun ? 'Nothing was changed. There are' : 'Removed:';
  if (total === 0) return { document, text: dryRun ? 'There is nothing to erase.' : 'Nothing was left to erase.' };
  const rows = removed.map((each) => [each.service, each.table, String(each.rows)]);
  return { document, text: `${what} ${total} rows\n\n${table(['SERVICE', 'TABLE', 'ROWS'], rows)}` };
}
