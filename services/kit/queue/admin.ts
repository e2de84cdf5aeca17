import { z } from 'zod';
import { unixSeconds } from '../clock.ts';
import { ApiError } from '../errors.ts';
import { checked } from '../http/validate.ts';
import type { Database } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/log.ts';
import { type ItemPosition, type ListedItem, QueueAdminStore } from './admin-store.ts';
import type { AdministeredQueue } from './definition.ts';

/** The maximum of items of one call. */
const MAX_ITEMS = 1_000;

const guildId = z.string().regex(/^[1-9][0-9]{16,19}$/, { error: 'must be a guild ID' });
const queue = z.string().max(50);
const list = z.object({
  queue: queue.transform((name) => name || undefined),
  guildId: guildId.optional(),
  state: z
    .string()
    .pipe(z.enum(['', 'queued', 'dead'], { error: 'must be queued or dead' }))
    .transform((state) => state || undefined),
  limit: z.int().min(1).max(MAX_ITEMS),
  position: z.string().max(200),
});
const retry = z.object({
  queue,
  guildId: guildId.optional(),
  id: z.string().min(1).max(100).optional(),
  queuedBeforeMs: z.int().min(1).optional(),
});
const skip = z.object({ queue, guildId, id: z.string().min(1).max(100) });

export interface QueueAdminOptions {
  database: Database;
  /** All queues of the service. */
  definitions: readonly AdministeredQueue[];
  log: Logger;
  /** Called when items have become due. */
  wake: () => void;
}

/** One queue, and what operators do with it. */
interface Administered {
  definition: AdministeredQueue;
  store: QueueAdminStore;
}

/** The methods of guild.common.v1.QueueAdminService, which every service with queues serves to operators. */
export function queueAdminMethods({ database, definitions, log, wake }: QueueAdminOptions) {
  const queues = definitions.map((definition) => ({ definition, store: new QueueAdminStore(database, definition) }));
  const named = (name: string): Administered => {
    const found = queues.find(({ definition }) => definition.name === name);
    if (found) return found;
    const names = definitions.map((definition) => definition.name).join(', ');
    throw new ApiError('NOT_FOUND', { message: `There is no queue "${name}" here, only: ${names}` });
  };
  return {
    async listQueueItems(message: z.input<typeof list>) {
      const { queue: name, limit, position, ...filter } = checked(list, message, 'request');
      const wanted = name === undefined ? queues : [named(name)];
      const start = position === '' ? undefined : readPosition(position);
      const items: (ListedItem & { queue: string })[] = [];
      let isPast = start === undefined;
      for (const { definition, store } of wanted) {
        const isStart = definition.name === start?.queue;
        if (!isPast && !isStart) continue;
        isPast = true;
        const found = await store.list(filter, isStart ? start : undefined, limit + 1 - items.length);
        items.push(...found.map((item) => ({ ...item, queue: definition.name })));
        if (items.length > limit) break;
      }
      const page = items.slice(0, limit);
      const last = items.length > limit ? page.at(-1) : undefined;
      return { items: page.map(itemMessage), nextPosition: last ? writePosition(last) : '' };
    },

    /** One item by its guild and ID; else up to 1,000 dead letters of the guild, or of all guilds. */
    async retryQueueItems(message: z.input<typeof retry>) {
      const asked = checked(retry, message, 'request');
      const { definition, store } = named(asked.queue);
      const startedAtMs = asked.queuedBeforeMs ?? (await store.now());
      let retried: number;
      if (asked.id === undefined) retried = await store.retryDead(asked.guildId, startedAtMs, MAX_ITEMS);
      else {
        const item = itemOf(definition, asked.guildId, asked.id);
        if (!(await store.retry(item))) throw noIdleItem();
        retried = 1;
      }
      log.info({ queue: asked.queue, guild_id: asked.guildId, item_id: asked.id, retried }, 'queue items retried');
      wake();
      return { retried, isMore: asked.id === undefined && retried === MAX_ITEMS, startedAtMs };
    },

    async skipQueueItem(message: z.input<typeof skip>) {
      const asked = checked(skip, message, 'request');
      const { definition, store } = named(asked.queue);
      const item = itemOf(definition, asked.guildId, asked.id);
      const isSkipped = await database.transaction((transaction) => store.skip(transaction, item));
      if (!isSkipped) throw noIdleItem();
      log.warn({ queue: asked.queue, guild_id: asked.guildId, item_id: asked.id }, 'queue item skipped');
      wake();
      return {};
    },
  };
}

const noIdleItem = () =>
  new ApiError('NOT_FOUND', { message: 'There is no such item that is waiting or dead; it may be in flight now' });

const SHAPES = { bigint: /^[0-9]{1,18}$/, uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, text: /^/ };

/** NOT_FOUND for an ID that no item of the queue can have. */
function itemOf({ table }: AdministeredQueue, ofGuild: string | undefined, id: string): ItemPosition {
  if (ofGuild === undefined) throw new ApiError('INVALID_REQUEST', { message: 'An item is named by its guild and ID' });
  if (!SHAPES[table.idType].test(id)) throw noIdleItem();
  return { guildId: ofGuild, id };
}

const writePosition = ({ queue: name, guildId: guild, id }: ListedItem & { queue: string }) => `${name}|${guild}|${id}`;

function readPosition(text: string): ItemPosition & { queue: string } {
  const [, name, guild, id] = /^([^|]+)\|([^|]+)\|(.+)$/.exec(text) ?? [];
  if (name !== undefined && guild !== undefined && id !== undefined) return { queue: name, guildId: guild, id };
  throw new ApiError('INVALID_REQUEST', { message: 'The position is not a next_position of a page' });
}

function itemMessage(item: ListedItem & { queue: string }) {
  const { queue: name, guildId: guild, id, state, attempts, lastError } = item;
  return {
    queue: name,
    guildId: guild,
    id,
    state,
    attempts,
    runAt: unixSeconds(item.runAt),
    queuedAt: unixSeconds(item.queuedAt),
    lastError: lastError ?? undefined,
  };
}
