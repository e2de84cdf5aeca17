import { type AuditEntry, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { type Command, CommandFailure, type Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, pagesOf, readPageOptions } from '../pages.ts';
import { properties, time } from '../text.ts';
import { TIME_FORMATS } from '../times.ts';

const HEADS_PAGE_SIZE = 1_000;
/** The maximum number of broken audit chains that are listed. All broken chains are counted. */
const MAX_REPORTED = 100;

const OWNER_OPTIONS = { guild: { type: 'string' }, installation: { type: 'boolean' } } as const;
const INSTALLATION_NOTE =
  '--installation   changes that concern no guild: operators, and players who are flagged in all guilds';

const list: Command = {
  name: 'audit list',
  usage: `(--guild ID | --installation) [--since TIME] ${PAGE_USAGE}`,
  notes: [INSTALLATION_NOTE, `--since TIME     ${TIME_FORMATS}`, ...PAGE_NOTES],
  options: { ...OWNER_OPTIONS, since: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    input.oneOf('guild', 'installation');
    const guildId = input.text('guild') ?? '';
    const since = input.time('since', 'ago');
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'entries',
      none: 'There are no entries.',
      headings: ['TIME', 'ACTOR', 'SERVICE', 'ACTION', 'KEY', 'DETAILS'],
      cells: ({ at, actor, service, action, keyId, details }: AuditEntry) => [
        time(at),
        actorOf(actor, details),
        service,
        action,
        keyId || '-',
        details === 'null' ? 'erased' : details,
      ],
      document: entryDocument,
      page: async (page) => {
        const request = { guildId, isInstallation: input.flag('installation'), since, ...page };
        const { entries, nextCursor } = await admin(connections).listAudit(request);
        return { items: entries, nextCursor };
      },
    });
  },
};

/** Returns who made a change: an operator, `key <prefix>`, or the person in the console with the role. */
function actorOf(actor: string, details: string): string {
  const { person } = (JSON.parse(details) ?? {}) as { person?: { id?: string; role?: string } };
  return person?.id ? `${actor} ${person.id} (${person.role ?? 'no role'})` : actor;
}

/** The result of verifying one audit chain, as JSON. */
interface VerifiedChain {
  guild_id: string | null;
  entries: number;
  first_break: { sequence: number; reason: string } | null;
  last_sequence: number;
  last_chain: string;
  checkpoint_sequence: number;
}

const verify: Command = {
  name: 'audit verify',
  usage: '(--guild ID | --installation | --all)',
  notes: [
    INSTALLATION_NOTE,
    '--all            the chains of all guilds and of the installation',
    'The exit status is 1 if a chain is broken. Store `last_chain` elsewhere to check later that it is still in the chain.',
  ],
  options: { ...OWNER_OPTIONS, all: { type: 'boolean' } },
  run: async (input, connections, terminal) => {
    const chosen = input.oneOf('guild', 'installation', 'all');
    const guildId = input.text('guild') ?? '';
    input.check();
    if (chosen !== 'all') return chainOutput(await verifyChain(connections, guildId));
    let chains = 0;
    let broken = 0;
    const reported: VerifiedChain[] = [];
    for await (const owner of allOwners(connections)) {
      const chain = await verifyChain(connections, owner);
      chains++;
      if (!chain.first_break) continue;
      broken++;
      terminal.report(chainText(chain));
      if (reported.length < MAX_REPORTED) reported.push(chain);
    }
    const document = { chains, broken_chains: broken, broken: reported };
    const output = { document, text: `${chains} chains, ${broken} of them broken.` };
    if (broken > 0) throw new CommandFailure(output);
    return output;
  },
};

export const auditCommands: readonly Command[] = [list, verify];

const admin = (connections: Connections) => connections.admin(KeyAdminServiceService, 'auth');

/** Yields the IDs of all guilds with audit entries, and the empty ID of the installation. */
async function* allOwners(connections: Connections): AsyncGenerator<string, void> {
  const page = async (request: { limit: number; cursor: string }) => {
    const { heads, nextCursor } = await admin(connections).listAuditHeads(request);
    return { items: heads, nextCursor };
  };
  for await (const { items } of pagesOf({ page }, { limit: HEADS_PAGE_SIZE, cursor: '' }, true)) {
    for (const { guildId } of items) yield guildId;
  }
}

/** Verifies an audit chain part by part, because the chain may be long. */
async function verifyChain(connections: Connections, guildId: string): Promise<VerifiedChain> {
  let entries = 0;
  for (let cursor = ''; ; ) {
    const part = await admin(connections).verifyAudit({ guildId, cursor });
    entries += part.entries;
    cursor = part.nextCursor;
    if (cursor !== '' && !part.firstBreak) continue;
    return {
      guild_id: guildId || null,
      entries,
      first_break: part.firstBreak ?? null,
      last_sequence: part.lastSequence,
      last_chain: part.lastChain,
      checkpoint_sequence: part.checkpointSequence,
    };
  }
}

function chainOutput(chain: VerifiedChain): Output {
  const text = properties([
    ['Result', chainText(chain)],
    ['Entries', String(chain.entries)],
    ['Last entry', String(chain.last_sequence)],
    ['Last chain value', chain.last_chain || '-'],
    ['Signed up to', chain.checkpoint_sequence === 0 ? 'nothing yet' : `entry ${chain.checkpoint_sequence}`],
  ]);
  const output = { document: chain, text };
  if (chain.first_break) throw new CommandFailure(output);
  return output;
}

function chainText({ guild_id: guildId, first_break: broken }: VerifiedChain): string {
  const owner = guildId === null ? 'installation' : `guild ${guildId}`;
  return broken ? `${owner}: broken at entry ${broken.sequence}: ${broken.reason}` : `${owner}: intact`;
}

function entryDocument({ id, at, actor, action, keyId, details, service, method, sequence }: AuditEntry) {
  const shown = JSON.parse(details) as unknown;
  return { id, sequence, at, actor, service, action, method, key_id: keyId || null, details: shown };
}
