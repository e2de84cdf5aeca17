import { QueueAdminServiceService, type QueueItem } from '#proto/gen/guild/common/v1/queue.ts';
import { type Command, type Input, YES_OPTION } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { time } from '../text.ts';

/** The services with queues, in the order in which `guildctl queue` lists their items. */
const SERVICES = ['moderation', 'members', 'activity', 'auth', 'lookup', 'bindings'];

const SERVICE = { service: { type: 'string' } } as const;
const SERVICE_NOTE = `--service NAME    ${SERVICES.join(', ')}`;
const ITEM = { ...SERVICE, queue: { type: 'string' }, guild: { type: 'string' }, id: { type: 'string' } } as const;
const ITEM_NOTES = [
  SERVICE_NOTE,
  '--queue NAME      as listed: events (to the log of events) in each service; in moderation decisions (deliveries of bans',
  '                  and mutes to game servers), restrictions, timeouts (of the platforms); in members link-changes,',
  '                  role-changes, nickname-changes, role-tasks, sync-jobs, binding-previews, rank-polls; in auth',
  '                  interactions (slash commands)',
  '--id ID           an item of the guild, as listed',
];

const list: Command = {
  name: 'queue list',
  usage: `[--service NAME] [--queue NAME] [--guild ID] [--state dead|queued] ${PAGE_USAGE}`,
  notes: [
    `${SERVICE_NOTE}; all when left out`,
    '--queue NAME      only this queue',
    '--state STATE     dead: only dead letters; queued: only items that wait or are in flight',
    ...PAGE_NOTES,
  ],
  options: {
    ...SERVICE,
    queue: { type: 'string' },
    guild: { type: 'string' },
    state: { type: 'string' },
    ...PAGE_OPTIONS,
  },
  run: async (input, connections) => {
    const service = serviceOf(input);
    const queue = input.text('queue') ?? '';
    const guildId = input.text('guild');
    const state = input.text('state') ?? '';
    const pages = readPageOptions(input);
    const start = pages.first.cursor === '' ? undefined : readCursor(input, pages.first.cursor);
    if (queue !== '' && service === undefined) input.fault('--queue needs --service');
    input.check();
    const services = service === undefined ? SERVICES : [service];
    return listOutput<Listed>(pages, {
      field: 'items',
      none: 'No items wait, and there are no dead letters.',
      headings: ['SERVICE', 'QUEUE', 'GUILD', 'ID', 'STATE', 'ATTEMPTS', 'QUEUED', 'NEXT ATTEMPT', 'LAST ERROR'],
      cells: (item) => [
        item.service,
        item.queue,
        item.guildId,
        item.id,
        item.state,
        String(item.attempts),
        time(item.queuedAt),
        item.state === 'dead' ? '-' : time(item.runAt),
        item.lastError ?? '-',
      ],
      document: itemDocument,
      page: async ({ limit, cursor }) => {
        const at = cursor === '' ? start : readCursor(input, cursor);
        const rest = services.slice(Math.max(0, services.indexOf(at?.service ?? '')));
        const items: Listed[] = [];
        let position = at?.position ?? '';
        // A page continues with the next service, so that an empty queue does not hide the items of the others.
        for (const [index, service] of rest.entries()) {
          const request = { queue, guildId, state, limit: limit - items.length, position };
          const found = await admin(connections, service).listQueueItems(request);
          items.push(...found.items.map((item) => ({ ...item, service })));
          if (found.nextPosition !== '') return { items, nextCursor: `${service}:${found.nextPosition}` };
          const following = rest[index + 1];
          if (items.length >= limit) return { items, nextCursor: following && `${following}:` };
          position = '';
        }
        return { items, nextCursor: undefined };
      },
    });
  },
};

const retry: Command = {
  name: 'queue retry',
  usage: '--service NAME --queue NAME (--guild ID --id ID | --all [--guild ID] --yes)',
  notes: [
    ...ITEM_NOTES,
    '--all             every dead letter, of the guild or of all guilds',
    'A retried ban or mute is not delivered if a later decision about the same player was delivered already.',
  ],
  options: { ...ITEM, all: { type: 'boolean' }, ...YES_OPTION },
  run: async (input, connections) => {
    const { service, queue } = requiredQueue(input);
    const guildId = input.text('guild');
    const id = input.text('id');
    input.oneOf('id', 'all');
    if (id !== undefined) input.requiredText('guild');
    input.check();
    if (id === undefined) input.confirm(`retries every dead letter of ${queue} in ${guildId ?? 'all guilds'}`);
    let retried = 0;
    let queuedBeforeMs: number | undefined;
    for (let isMore = true; isMore; ) {
      const response = await admin(connections, service).retryQueueItems({ queue, guildId, id, queuedBeforeMs });
      retried += response.retried;
      isMore = response.isMore;
      // Each call only retries items queued before the first call, so that an item which becomes a dead letter again
      // meanwhile is not retried twice.
      queuedBeforeMs = response.startedAtMs;
    }
    return {
      document: { retried },
      text: retried === 0 ? 'There are no dead letters.' : `${retried} will be tried again.`,
    };
  },
};

const skip: Command = {
  name: 'queue skip',
  usage: '--service NAME --queue NAME --guild ID --id ID --yes',
  notes: [
    ...ITEM_NOTES,
    'A skipped decision never reaches live game servers, but status checks include it. A skipped change of a link frees',
    'its verification code, and a repeat of its request gets a 409; look at `links show` first. After a skipped role task',
    'the member keeps its current roles until the next synchronisation. A skipped synchronisation job has failed.',
  ],
  options: { ...ITEM, ...YES_OPTION },
  run: async (input, connections) => {
    const { service, queue } = requiredQueue(input);
    const guildId = input.requiredText('guild');
    const id = input.requiredText('id');
    input.check();
    input.confirm(`discards item ${id} of ${queue} in guild ${guildId} permanently`);
    await admin(connections, service).skipQueueItem({ queue, guildId, id });
    return { document: { skipped: { service, queue, guild_id: guildId, id } }, text: 'The item was discarded.' };
  },
};

export const queueCommands: readonly Command[] = [list, retry, skip];

type Listed = QueueItem & { service: string };

const admin = (connections: Connections, service: string) => connections.admin(QueueAdminServiceService, service);

function requiredQueue(input: Input): { service: string; queue: string } {
  input.requiredText('service');
  return { service: serviceOf(input) ?? '', queue: input.requiredText('queue') };
}

function serviceOf(input: Input): string | undefined {
  const service = input.text('service');
  if (service !== undefined && !SERVICES.includes(service))
    input.fault(`--service must be one of ${SERVICES.join(', ')}`);
  return service;
}

/** Splits a cursor of `guildctl queue` into a service and a position in the list of this service. */
function readCursor(input: Input, cursor: string): { service: string; position: string } | undefined {
  const [, service, position] = /^([a-z]+):(.*)$/.exec(cursor) ?? [];
  if (service !== undefined && position !== undefined && SERVICES.includes(service)) return { service, position };
  input.fault('--cursor must be the next_cursor of an earlier page');
  return undefined;
}

function itemDocument({ service, queue, guildId, id, state, attempts, runAt, queuedAt, lastError }: Listed) {
  return {
    service,
    queue,
    guild_id: guildId,
    id,
    state,
    attempts,
    run_at: runAt,
    queued_at: queuedAt,
    last_error: lastError ?? null,
  };
}
