import { type AuditEntry, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { type Command, CommandFailure, type Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, pagesOf, readPageOptions } from '../pages.ts';
import { properties, time } from '../text.ts';
import { TIME_FORMATS } from '../times.ts';

const HEADS = 1_000;
/** Broken chains that are reported; the rest is counted. */
const MAX_REPORTED = 100;

const OWNER = { guild: { type: 'string' }, installation: { type: 'boolean' } } as const;
const INSTALLATION =
  '--installation   what concerns no guild: operators, and entries of the flagged list for every guild';

const list: Command = {
  name: 'audit list',
  summary: 'which operator did what to a guild, the newest first',
  usage: `(--guild ID | --installation) [--since TIME] ${PAGE_USAGE}`,
  notes: [INSTALLATION, `--since TIME     ${TIME_FORMATS}`, ...PAGE_NOTES],
  options: { ...OWNER, since: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    input.oneOf('guild', 'installation');
    const guildId = input.text('guild') ?? '';
    const since = input.time('since', 'ago');
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'entries',
      none: 'Nothing was done there.',
      headings: ['TIME', 'OPERATOR', 'SERVICE', 'ACTION', 'KEY', 'DETAILS'],
      cells: ({ at, actor, service, action, keyId, details }: AuditEntry) => [
        time(at),
        actor,
        service,
        action,
        keyId || '-',
        details === 'null' ? 'erased' : details,
      ],
      document: entryDocument,
      page: async (page) => {
        const asked = { guildId, isInstallation: input.flag('installation'), since, ...page };
        const { entries, nextCursor } = await admin(connections).listAudit(asked);
        return { items: entries, nextCursor };
      },
    });
  },
};

/** What was found of one chain. */
interface Chain {
  guild_id: string | null;
  entries: number;
  first_break: { sequence: number; reason: string } | null;
  last_sequence: number;
  last_chain: string;
  checkpoint_sequence: number;
}

const verify: Command = {
  name: 'audit verify',
  summary: 'recompute the chain of the audit, and report where it breaks first',
  usage: '(--guild ID | --installation | --all)',
  notes: [
    INSTALLATION,
    '--all            of every guild, and of the installation',
    'The exit status is 1 when a chain is broken. Whoever keeps `last_chain` elsewhere can tell later whether it is still',
    'a part of the chain.',
  ],
  options: { ...OWNER, all: { type: 'boolean' } },
  run: async (input, connections, screen) => {
    const chosen = input.oneOf('guild', 'installation', 'all');
    const guildId = input.text('guild') ?? '';
    input.check();
    if (chosen !== 'all') return oneOutput(await verifyChain(connections, guildId));
    let count = 0;
    let broken = 0;
    const reported: Chain[] = [];
    for await (const owner of allOwners(connections)) {
      const chain = await verifyChain(connections, owner);
      count++;
      if (!chain.first_break) continue;
      broken++;
      screen.tell(chainText(chain));
      if (reported.length < MAX_REPORTED) reported.push(chain);
    }
    const document = { chains: count, broken_chains: broken, broken: reported };
    const output = { document, text: `${count} chains, ${broken} of them broken.` };
    if (broken > 0) throw new CommandFailure(output);
    return output;
  },
};

export const auditCommands: readonly Command[] = [list, verify];

const admin = (connections: Connections) => connections.admin(KeyAdminServiceService, 'auth');

/** Every guild that has an audit; the empty ID is the installation. */
async function* allOwners(connections: Connections): AsyncGenerator<string, void> {
  const page = async (request: { limit: number; cursor: string }) => {
    const { heads, nextCursor } = await admin(connections).listAuditHeads(request);
    return { items: heads, nextCursor };
  };
  for await (const { items } of pagesOf({ page }, { limit: HEADS, cursor: '' }, true)) {
    for (const { guildId } of items) yield guildId;
  }
}

/** Part by part, since a chain may be long. */
async function verifyChain(connections: Connections, guildId: string): Promise<Chain> {
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

function oneOutput(chain: Chain): Output {
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

function chainText({ guild_id: guildId, first_break: broken }: Chain): string {
  const owner = guildId === null ? 'installation' : `guild ${guildId}`;
  return broken ? `${owner}: broken at entry ${broken.sequence}: ${broken.reason}` : `${owner}: sound`;
}

function entryDocument({ id, at, actor, action, keyId, details, service, method, sequence }: AuditEntry) {
  const shown = JSON.parse(details) as unknown;
  return { id, sequence, at, actor, service, action, method, key_id: keyId || null, details: shown };
}
