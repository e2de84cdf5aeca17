import { call, GUILD } from '../start/01-set-up.ts';

interface Ban {
  id: number;
  game_id: number;
  reason: string;
}

interface BanPage {
  bans: Ban[];
  lifted?: Ban[];
  server_time: number;
  next_cursor: string | null;
}

export const bans = new Map<number, Ban>();

/** Reads all bans, or the changes since an earlier reading, and returns the time for the next reading. */
export async function readBans(since?: number): Promise<number | undefined> {
  let time: number | undefined;
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: '100' });
    if (since !== undefined) query.set('updated_since', String(since));
    if (cursor !== null) query.set('cursor', cursor);
    const page: BanPage = await call('GET', `/api/v1/moderation/${GUILD}/game/bans/active?${query.toString()}`);
    for (const ban of page.bans) bans.set(ban.id, ban);
    for (const ban of page.lifted ?? []) bans.delete(ban.id);
    time ??= page.server_time;
    cursor = page.next_cursor;
  } while (cursor !== null);
  return time;
}

export const bansSince = await readBans();
console.log(bans.size, 'bans');
