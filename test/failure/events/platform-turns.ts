import { setTimeout as wait } from 'node:timers/promises';
import { databaseRows } from '../../postgres/database.ts';
import type { Turn } from './guild-writer.ts';

const ROLE = '910000000000000001';
const FIRST_MEMBER = 940000000000000000n;
const LOOK_EVERY_MS = 200;

/** Whether somebody became a member in a turn, not before. */
export const isNewMember = (chatId: string) => BigInt(chatId) >= FIRST_MEMBER;

/** Somebody joins on the chat platform, gets a role there, loses it, and leaves. */
export const platformTurn: Turn = async (writer, turn) => {
  const user = String(FIRST_MEMBER + BigInt(turn));
  await writer.changeMember(user, 'join', { username: `new-${turn}` });
  writer.confirm('member.joined', user);
  await writer.changeMember(user, 'update', { roles: [ROLE] });
  writer.confirm('member.roles_changed', user, `+${ROLE}`, '-');
  await writer.changeMember(user, 'update', { roles: [] });
  writer.confirm('member.roles_changed', user, '+', `-${ROLE}`);
  await writer.changeMember(user, 'leave');
  writer.confirm('member.left', user);
};

/** Waits until the websocket has reported the guilds, and has their members reported as those of guilds in use. */
export async function watchGuilds(databaseUrl: string, guilds: readonly string[]): Promise<void> {
  for (;;) {
    const used = await databaseRows(
      databaseUrl,
      `UPDATE members.mirror_guilds SET used_at = clock_timestamp() WHERE guild_id = ANY($1) RETURNING guild_id`,
      [guilds],
    );
    if (used.length === guilds.length) return;
    await wait(LOOK_EVERY_MS);
  }
}
