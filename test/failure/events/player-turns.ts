import { asApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type AddEntryRequest, ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import type { GuildWriter, Turn } from './guild-writer.ts';

const SHIELD = ShieldAdminServiceService;
type NewFlag = Pick<AddEntryRequest, 'guildId' | 'gameId' | 'reason' | 'category'>;
const FIRST_PLAYER = 1_000_000;
const PLAYERS_PER_TURN = 10;
/** Expiries are due within the test. */
const SOON_SECONDS = 2;

const playerOf = (turn: number, index: number) => FIRST_PLAYER + turn * PLAYERS_PER_TURN + index;

/** Links an account, and removes the link; every other removal is sent once, whether or not it is acknowledged. */
export const linksTurn: Turn = async (writer, turn) => {
  const account = { chat_id: `93000000000${playerOf(turn, 0)}`, game_id: playerOf(turn, 0) };
  await writer.post('/verification/link', { ...account, game_username: 'Player' });
  writer.confirm('link.created', account.chat_id, account.game_id);
  const { chat_id } = account;
  const isRepeated = turn % 2 === 0;
  const removed = await (isRepeated ? writer.post : writer.attempt)('/verification/unlink', { chat_id });
  if (removed) writer.confirm('link.removed', account.chat_id, account.game_id);
};

async function decide(writer: GuildWriter, action: 'ban' | 'mute', body: object): Promise<number> {
  const { id } = await writer.post(`/moderation/${writer.guild}/game/${action}`, { reason: 'Cheats', ...body });
  writer.confirm(`${action}.created`, id);
  return id;
}

/** Bans and mutes players: one is lifted, one expires soon, one stays, and one is sent once. */
export const decisionsTurn: Turn = async (writer, turn) => {
  const [first, second] = turn % 2 === 0 ? (['ban', 'mute'] as const) : (['mute', 'ban'] as const);
  const lifted = await decide(writer, first, { game_id: playerOf(turn, 1) });
  await writer.post(`/moderation/${writer.guild}/game/un${first}`, { game_id: playerOf(turn, 1) });
  writer.confirm(`${first}.lifted`, lifted);
  const expiring = await decide(writer, second, { game_id: playerOf(turn, 2), duration: SOON_SECONDS });
  writer.confirm(`${second}.expired`, expiring);
  const body = { game_id: playerOf(turn, 3), reason: 'Cheats' };
  const unsure = await writer.attempt(`/moderation/${writer.guild}/game/${first}`, body);
  if (unsure) writer.confirm(`${first}.created`, unsure.id);
};

/** Adds an entry to the guild's own flagged list; with `isExpiring` one that expires soon after the call arrives. */
async function addFlag(client: GrpcClient<typeof SHIELD>, entry: NewFlag, isExpiring: boolean): Promise<void> {
  for (;;) {
    const expiresAt = isExpiring ? Math.floor(Date.now() / 1000) + SOON_SECONDS : undefined;
    try {
      await client.addEntry({ ...entry, actor: 'test', expiresAt });
      return;
    } catch (error) {
      // A call that had to wait for the service arrives after the time.
      if (!isExpiring || asApiError(error).code !== 'INVALID_REQUEST') throw error;
    }
  }
}

/** Puts players on the guild's own flagged list: one is taken off, one expires soon, one stays. */
export const flagsTurn: Turn = async (writer, turn) => {
  const { guild: guildId } = writer;
  const gameId = playerOf(turn, 4);
  const isExpiring = turn % 3 === 1;
  const entry = { guildId, gameId, reason: `Turn ${turn}`, category: 'exploiter' };
  await writer.operate('moderation', SHIELD, (client) => addFlag(client, entry, isExpiring));
  writer.confirm('shield.added', gameId);
  if (isExpiring) writer.confirm('shield.removed', gameId);
  if (turn % 3 !== 2) return;
  // The first call may have removed it without an answer, so a repetition finds nothing.
  await writer.operate('moderation', SHIELD, async (client) => {
    const { entries } = await client.listEntries({ guildId, limit: 1, afterGameId: gameId - 1 });
    if (entries[0]?.gameId === gameId) await client.removeEntry({ guildId, gameId, actor: 'test' });
  });
  writer.confirm('shield.removed', gameId);
};
