import { resolveNames } from '#clients/typescript/src/operations.ts';
import type { Rest } from './rest.ts';

/** The name of an account; null if it is not known. */
export type Name = string | null;

type Platform = 'chat' | 'game';

/** What one request asks for: by platform and ID, who waits for the name. */
type Batch = Record<Platform, Map<string, (name: Name) => void>>;

/** The longest lists that the route allows. */
const MAX_PER_BATCH = 100;
const DELAY_MS = 15;
/** Names of this many accounts are kept. */
const MAX_CACHED = 5_000;

const cache = new Map<string, Promise<Name>>();
const pending = new Map<string, Batch>();

const keyOf = (rest: Rest, platform: Platform, id: string) => `${rest.guildId} ${platform} ${id}`;

/** The name of an account. Accounts that are asked for at almost the same time share a request. */
export function nameOf(rest: Rest, platform: Platform, id: string): Promise<Name> {
  const key = keyOf(rest, platform, id);
  const known = cache.get(key);
  if (known) return known;
  const name = new Promise<Name>((resolve) => openBatch(rest, platform)[platform].set(id, resolve));
  cache.set(key, name);
  const [oldest] = cache.keys();
  if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest);
  return name;
}

/** The batch of the guild that will be sent next and has space. */
function openBatch(rest: Rest, platform: Platform): Batch {
  const open = pending.get(rest.guildId);
  if (open && open[platform].size < MAX_PER_BATCH) return open;
  const batch: Batch = { chat: new Map(), game: new Map() };
  pending.set(rest.guildId, batch);
  setTimeout(() => void resolveBatch(rest, batch), DELAY_MS);
  return batch;
}

async function resolveBatch(rest: Rest, batch: Batch): Promise<void> {
  if (pending.get(rest.guildId) === batch) pending.delete(rest.guildId);
  const { chat, game } = batch;
  try {
    const names = await resolveNames(rest, { chat_ids: [...chat.keys()], game_ids: [...game.keys()] });
    for (const [id, resolve] of chat) resolve(names.chat_names[id] ?? null);
    for (const [id, resolve] of game) resolve(names.game_names[id] ?? null);
    for (const platform of names.incomplete) forget(rest, platform, batch);
  } catch {
    // A name is an addition: without it the ID is shown, and the next page asks again.
    for (const resolve of [...chat.values(), ...game.values()]) resolve(null);
    forget(rest, 'chat', batch);
    forget(rest, 'game', batch);
  }
}

function forget(rest: Rest, platform: Platform, batch: Batch): void {
  for (const id of batch[platform].keys()) cache.delete(keyOf(rest, platform, id));
}
