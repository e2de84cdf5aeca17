import type { z } from 'zod';
import { activityRoutes } from '#proto/rest/activity.ts';
import { moderationRoutes } from '#proto/rest/moderation.ts';
import { peopleRoutes } from '#proto/rest/people.ts';
import { chatId as chatIdSchema, gameId as gameIdSchema } from '#proto/rest/schemas.ts';
import { type CommandCalls, CommandRejected } from './command.ts';
import { lines, memberMention, plain, relativeTime } from './text.ts';

type Person = z.output<(typeof peopleRoutes.getPerson)['data']>;

/** The staff level from which on members of the staff may use these commands. */
const MIN_LEVEL = 1;

/** The player whom a command is about. */
interface Target {
  gameId: number;
  /** The chat account, if the command names it. */
  chatId: string | undefined;
  gameUsername: string | undefined;
}

/** Shows what is known about a player. */
export async function whois(calls: CommandCalls): Promise<string> {
  await staffGameId(calls);
  const target = await targetOf(calls);
  const person = await calls.make({
    route: peopleRoutes.getPerson,
    params: { gameId: target.gameId },
    scopes: ['moderation:read', 'lookup:read', 'activity:read', 'server:read'],
  });
  return lines(personLines(person));
}

/** Bans a player. */
export async function ban(calls: CommandCalls): Promise<string> {
  const moderator = await staffGameId(calls);
  const { gameId, gameUsername } = await targetOf(calls);
  const { chatId, options } = calls.run;
  const created = await calls.make(
    {
      route: moderationRoutes.banPlayer,
      body: {
        game_id: gameId,
        reason: options['reason'] ?? '',
        moderator_game_id: moderator,
        moderator_chat_id: chatId,
        ...(gameUsername !== undefined && { game_username: gameUsername }),
        ...(options['duration'] && { duration: options['duration'] }),
      },
    },
    'moderator',
  );
  return `Banned the player ${named(gameId, created.game_username)} ${endOf(created)}. Reason: ${plain(created.reason)}`;
}

/** Returns the game account of a member of the staff. Throws CommandRejected if the member has no staff level. */
async function staffGameId(calls: CommandCalls): Promise<number> {
  const link = await calls.linkOf(calls.run.chatId);
  if (!link) throw new CommandRejected('Only staff may use this. Link your game account with `/verify` first.');
  const { level } = await calls.make({
    route: activityRoutes.readPermissions,
    params: { gameId: link.game_id },
  });
  if (level < MIN_LEVEL) throw new CommandRejected('Only staff may use this, and none of your roles is a staff role.');
  return link.game_id;
}

/** Returns the player whom the options name: by the chat account or the game account, not by both. */
async function targetOf(calls: CommandCalls): Promise<Target> {
  const { member, game_id: given } = calls.run.options;
  if ((member === undefined) === (given === undefined)) {
    throw new CommandRejected('Name the player either with `member` or with `game_id`.');
  }
  if (member === undefined) {
    const gameId = gameIdSchema.safeParse(given);
    if (!gameId.success) throw new CommandRejected('`game_id` must be the ID of a game account.');
    return { gameId: gameId.data, chatId: undefined, gameUsername: undefined };
  }
  const chatId = chatIdSchema.safeParse(member);
  const link = chatId.success ? await calls.linkOf(chatId.data) : null;
  if (!link) throw new CommandRejected('This member is not verified. Name the player with `game_id`.');
  return { gameId: link.game_id, chatId: link.chat_id, gameUsername: link.game_username };
}

function personLines({ game_id: gameId, link, ban: banned, mute, flag, server, session, logs }: Person): string[] {
  const username = link?.game_username ?? banned?.game_username ?? logs.find((log) => log.game_username)?.game_username;
  return [
    `Player ${named(gameId, username ?? null)}, ${link ? `linked with ${memberMention(link.chat_id)}` : 'not linked'}`,
    banned ? `Banned ${endOf(banned)}: ${plain(banned.reason)}` : 'Not banned',
    ...(mute ? [`Muted ${endOf(mute)}: ${plain(mute.reason)}`] : []),
    ...(flag ? [`On the flagged list (${plain(flag.category)}): ${plain(flag.reason)}`] : []),
    ...(server ? [`Playing now, in the place ${server.place_id}`] : []),
    ...(session ? [`Staff session since ${relativeTime(session.started_at)}`] : []),
    ...(logs.length > 0 ? ['Latest decisions:'] : []),
    ...logs.map(({ action, created_at: at, reason }) => `- ${action} ${relativeTime(at)}: ${plain(reason ?? '')}`),
  ];
}

const named = (gameId: number, username: string | null) =>
  username === null ? `${gameId}` : `**${plain(username)}** (game ID ${gameId})`;

const endOf = ({ expires_at: end }: { expires_at: number | null }) =>
  end === null ? 'permanently' : `until <t:${end}:f>`;
