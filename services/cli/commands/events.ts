import { setTimeout as wait } from 'node:timers/promises';
import { type Event, EventAdminServiceService } from '#proto/gen/guild/events/v1/admin.ts';
import type { Command, Write } from '../command.ts';
import type { Connections } from '../connections.ts';
import { time } from '../text.ts';

const MAX_PAGE = 100;
const DEFAULT_LINES = 10;
const MAX_LINES = 1_000;
const POLL_MS = 1_000;

interface Tail {
  guildId: string;
  types: string[];
  /** The seq after which the output begins; undefined: `lines` before the newest event. */
  after: number | undefined;
  lines: number;
}

const tail: Command = {
  name: 'events tail',
  usage: '--guild ID [--types a,b] [--after SEQ] [--lines N] [--once]',
  notes: [
    '--types LIST  only these types; ban.* stands for all types of bans',
    '--after SEQ   begin after this event instead of near the newest one',
    `--lines N     begin N events before the newest one, ${DEFAULT_LINES} by default; at most ${MAX_LINES}`,
    '--once        print the events that exist now, and exit; this is the default with --json',
  ],
  options: {
    guild: { type: 'string' },
    types: { type: 'string' },
    after: { type: 'string' },
    lines: { type: 'string' },
    once: { type: 'boolean' },
  },
  run: async (input, connections) => {
    const request: Tail = {
      guildId: input.requiredText('guild'),
      types: input.list('types') ?? [],
      after: input.wholeNumber('after', { min: 0, max: Number.MAX_SAFE_INTEGER }),
      lines: input.wholeNumber('lines', { min: 0, max: MAX_LINES }) ?? DEFAULT_LINES,
    };
    input.forbidBoth('after', 'lines');
    const isOnce = input.flag('once');
    input.check();
    return {
      write: (write, isJson) =>
        isJson ? writeDocument(connections, request, write) : follow(connections, request, write, isOnce),
    };
  },
};

export const eventCommands: readonly Command[] = [tail];

function admin(connections: Connections) {
  return connections.admin(EventAdminServiceService, 'events');
}

/** Returns the seq after which the output begins. */
async function startOf(connections: Connections, { guildId, after, lines }: Tail): Promise<number> {
  if (after !== undefined) return after;
  const { newestSeq } = await admin(connections).readEvents({
    guildId,
    after: undefined,
    types: [],
    limit: 1,
    newest: true,
  });
  return Math.max(0, newestSeq - lines);
}

/** Yields the pages of events after a seq, until the newest event. */
async function* pagesAfter(connections: Connections, { guildId, types }: Tail, start: number) {
  for (let after = start; ; ) {
    const page = await admin(connections).readEvents({ guildId, types, after, limit: MAX_PAGE, newest: false });
    yield page;
    if (page.nextAfter >= page.newestSeq) return;
    after = page.nextAfter;
  }
}

async function follow(connections: Connections, request: Tail, write: Write, isOnce: boolean): Promise<void> {
  for (let after = await startOf(connections, request); ; ) {
    for await (const { events, nextAfter } of pagesAfter(connections, request, after)) {
      for (const event of events) await write(`${lineOf(event)}\n`);
      after = nextAfter;
    }
    if (isOnce) return;
    await wait(POLL_MS);
  }
}

async function writeDocument(connections: Connections, request: Tail, write: Write): Promise<void> {
  let nextAfter = await startOf(connections, request);
  let separator = '{"events":[';
  let isEmpty = true;
  for await (const page of pagesAfter(connections, request, nextAfter)) {
    for (const event of page.events) {
      await write(separator + JSON.stringify(documentOf(event)));
      separator = ',';
      isEmpty = false;
    }
    nextAfter = page.nextAfter;
  }
  await write(`${isEmpty ? separator : ''}],"next_after":${nextAfter}}\n`);
}

const documentOf = ({ id, seq, type, createdAt, source, data }: Event) => ({
  id,
  seq,
  type,
  created_at: createdAt,
  source: { kind: source?.kind, id: source?.id },
  data: JSON.parse(data) as unknown,
});

const lineOf = ({ seq, type, createdAt, source, data }: Event) =>
  `${time(createdAt)}  ${seq}  ${type}  ${source?.kind} ${source?.id}  ${data}`;
