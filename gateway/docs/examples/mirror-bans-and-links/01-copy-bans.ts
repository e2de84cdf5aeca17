import { guild } from '../start/01-set-up.ts';

export const bans = new Map<number, { game_id: number; reason: string }>();

/** Reads all bans, or the changes since an earlier reading, and returns the time for the next reading. */
export async function readBans(since?: number): Promise<number | undefined> {
  let time: number | undefined;
  for await (const page of guild.listActiveBansPages({ limit: 100, updated_since: since })) {
    for (const ban of page.bans) bans.set(ban.id, ban);
    for (const ban of page.lifted ?? []) bans.delete(ban.id);
    time ??= page.server_time;
  }
  return time;
}

export const bansSince = await readBans();
console.log(bans.size, 'bans');
