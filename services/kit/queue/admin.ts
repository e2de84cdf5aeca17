import { z } from 'zod';
import { guildId } from '#proto/rest/schemas.ts';
import { unixSeconds } from '../clock.ts';
import { ApiError } from '../errors.ts';
import { positionCodec } from '../http/page-position.ts';
import { checked } from '../http/validate.ts';
import type { Database } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/log.ts';
import { type ListedItem, QueueAdminStore } from './admin-store.ts';
import type { AdministeredQueue, ItemKey } from './definition.ts';

/** The maximum number of items that one operator call lists, or retries. */
const MAX_ITEMS = 1_000;

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
  /** The definitions of all queues of the service. */
  definitions: readonly AdministeredQueue[];
  log: Logger;
  /** Called when an operator's call may have made items due, so that workers look for due items. */
  wake: () => void;
}

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
      const { queue: name, limit, position, ...filter } = checked(list, message);
      const wanted = name === undefined ? queues : [named(name)];
      const start = position === '' ? undefined : positions.read(position);
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
      return { items: page.map(itemMessage), nextPosition: last ? positions.write(last) : '' };
    },

    /**
     * Retries one item by its guild and ID, or without an ID up to 1,000 dead letters of the guild or of all guilds.
     */
    async retryQueueItems(message: z.input<typeof retry>) {
      const request = checked(retry, message);
      const { definition, store } = named(request.queue);
      const startedAtMs = request.queuedBeforeMs ?? (await store.now());
      let result = { found: 1, retried: 1 };
      if (request.id === undefined) result = await store.retryDead(request.guildId, startedAtMs, MAX_ITEMS);
      else if (!(await store.retry(itemOf(definition, request.guildId, request.id)))) throw noIdleItem();
      const { found, retried } = result;
      log.info(
        { queue: request.queue, guild_id: request.guildId, item_id: request.id, retried },
        'operator queued items again',
      );
      wake();
      // If all dead letters found were rejected, a further call would find the same ones again, so `isMore` is false.
      return { retried, isMore: found === MAX_ITEMS && retried > 0, startedAtMs };
    },

    async skipQueueItem(message: z.input<typeof skip>) {
      const request = checked(skip, message);
      const { definition, store } = named(request.queue);
      const item = itemOf(definition, request.guildId, request.id);
      const isSkipped = await database.transaction((transaction) => store.skip(transaction, item));
      if (!isSkipped) throw noIdleItem();
      log.warn(
        { queue: request.queue, guild_id: request.guildId, item_id: request.id },
        'operator skipped a queue item',
      );
      wake();
      return {};
    },
  };
}

const noIdleItem = () =>
  new ApiError('NOT_FOUND', { message: 'There is no such item that is waiting or dead; it may be in flight now' });

const ID_PATTERNS = { bigint: /^[0-9]{1,18}$/, uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, text: /^/ };

/** Encodes and reads the positions of pages in the list of the items of all queues. */
const positions = positionCodec({ queue: /[^_]+/, guildId: /[^_]+/, id: /.+/ });

/**
 * Returns the key of an item. Throws NOT_FOUND for an ID that no item of the queue can have, and INVALID_REQUEST
 * without a guild.
 */
function itemOf({ table }: AdministeredQueue, ofGuild: string | undefined, id: string): ItemKey {
  if (ofGuild === undefined) {
    throw new ApiError('INVALID_REQUEST', { message: 'guild_id is required with id: both together name an item' });
  }
  if (!ID_PATTERNS[table.idType].test(id)) throw noIdleItem();
  return { guildId: ofGuild, id };
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
