import { z } from 'zod';
import { chatId, gameId, gameIdOut, optional, placeId, text, timestamp, trimmedText } from '../schemas.ts';
import { serverId } from '../server-id.ts';

const DURATION = /^([0-9]{1,12})([smhd]?)$/;
const SECONDS = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };
/** Ten years: what is meant to last longer is permanent. */
export const LONGEST_SECONDS = 3650 * 86_400;
const WRONG_DURATION = `must be permanent, or whole seconds or a text such as 30s, 5m, 1h or 7d, from 1 s to ${LONGEST_SECONDS / SECONDS.d} days`;

/** A duration as seconds; null when it is permanent. */
const duration = z
  .union([z.number(), z.string()], { error: WRONG_DURATION })
  .transform((given, context) => {
    if (given === 'permanent') return null;
    const seconds = typeof given === 'number' ? given : secondsOf(given);
    if (Number.isSafeInteger(seconds) && seconds >= 1 && seconds <= LONGEST_SECONDS) return seconds;
    context.addIssue({ code: 'custom', message: WRONG_DURATION });
    return z.NEVER;
  })
  .pipe(z.number().nullable())
  .meta({
    type: ['integer', 'string'],
    minimum: 1,
    maximum: LONGEST_SECONDS,
    pattern: '^(permanent|[0-9]{1,12}[smhd]?)$',
    description: 'Seconds, or a text such as `30s`, `5m`, `1h`, `7d`, `permanent`; permanent when left out',
    example: '7d',
  });

function secondsOf(text: string): number {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

export const reasonText = trimmedText(1, 400, { lines: true });

export const scope = z
  .enum(['global', 'place'], { error: 'must be global or place' })
  .meta({ description: 'Whether it counts everywhere or in one place', example: 'global' });

/** Who decides, and from where. */
const decidedBy = {
  moderator_game_id: optional(gameId.meta({ example: 7002 })).meta({ description: 'The moderator in the game' }),
  moderator_chat_id: optional(chatId).meta({ description: 'The moderator on the chat platform' }),
  source_server_id: optional(serverId).meta({ description: 'This game server gets no command' }),
};

/** Refuses a place without its scope, and the scope without its place. */
const placeHasScope = [
  (body: { scope?: unknown; place_id?: unknown }): boolean => (body.scope === 'place') === (body.place_id != null),
  { path: ['place_id' as PropertyKey], error: 'goes with scope place, which needs it', when: () => true },
] satisfies [unknown, unknown];

/** What bans and mutes. */
export const punishBody = z
  .object({
    game_id: gameId,
    reason: reasonText.meta({ description: 'Told to the player', example: 'Used speed hacks' }),
    ...decidedBy,
    game_username: optional(text(1, 50)).meta({ description: 'The name in the game', example: 'AdaBuilds' }),
    duration: optional(duration),
    scope: optional(scope).meta({ description: '`global` when left out' }),
    place_id: optional(placeId).meta({ description: 'Of scope `place`' }),
    replace: optional(z.boolean({ error: 'must be true or false' })).meta({
      description: 'Lifts what is in force in that scope first',
    }),
  })
  .refine(...placeHasScope)
  .meta({
    example: { game_id: 7001, reason: 'Used speed hacks', moderator_game_id: 7002, duration: '7d' },
  });

/** What unbans and unmutes. */
export const liftBody = z
  .object({
    game_id: gameId,
    reason: optional(reasonText).meta({ description: 'Why, for the log', example: 'Appeal accepted' }),
    ...decidedBy,
    scope: optional(scope).meta({ description: 'All that is in force is lifted when left out' }),
    place_id: optional(placeId).meta({ description: 'Of scope `place`' }),
  })
  .refine(...placeHasScope)
  .meta({ example: { game_id: 7001, reason: 'Appeal accepted', moderator_game_id: 7002 } });

const username = z.string().nullable().meta({ description: 'The name in the game', example: 'AdaBuilds' });
const moderatorGameId = gameIdOut.nullable().meta({ description: 'The moderator in the game', example: 7002 });
const moderatorChatId = chatId.nullable().meta({ description: 'The moderator on the chat platform', example: null });
const placeIdOut = gameIdOut.nullable().meta({ description: 'null of scope `global`', example: null });
const serverOut = z.string().nullable().meta({ description: 'The game server that it came from', example: null });
const recordId = z
  .int()
  .min(1)
  .meta({ description: 'Unique in the guild; a newer record has a higher one', example: 81 });
export const expiresAt = timestamp
  .nullable()
  .meta({ description: 'Unix seconds; null when permanent', example: 1790604800 });
export const isPermanent = z.boolean().meta({ description: 'Whether it has no end', example: false });
export const reasonOut = z.string().meta({ description: 'As it was given', example: 'Used speed hacks' });

/** A ban or mute as it was decided. */
export const punishment = z
  .object({
    id: recordId,
    game_id: gameIdOut,
    game_username: username,
    reason: reasonOut,
    moderator_game_id: moderatorGameId,
    moderator_chat_id: moderatorChatId,
    scope,
    place_id: placeIdOut,
    created_at: timestamp,
    expires_at: expiresAt,
    is_permanent: isPermanent,
    source_server_id: serverOut,
  })
  .meta({ id: 'Punishment', description: 'A ban or mute as it was decided' });

/** The response to a ban or mute. */
export const createdPunishment = z
  .object({
    ...punishment.shape,
    ignored_fields: z
      .array(z.string())
      .optional()
      .meta({
        description:
          'Fields of the body that this route does not know, where there were any: a misspelt one, for example',
        example: ['durration'],
      }),
  })
  .meta({ id: 'CreatedPunishment', description: 'A ban or mute that was made' });

/** The response to an unban or unmute. */
export const liftedPunishment = z
  .object({
    ...punishment.shape,
    lifted_at: timestamp,
    lifted_count: z
      .int()
      .min(1)
      .meta({ description: 'How many were lifted; this is the global or the newest', example: 1 }),
  })
  .meta({ id: 'LiftedPunishment', description: 'A ban or mute that was lifted, as it was decided' });

/** That a ban or mute was lifted before its end. */
export const lifted = z
  .object({
    id: recordId.meta({ description: 'Of the ban or mute that was lifted', example: 80 }),
    game_id: gameIdOut,
    scope,
    place_id: placeIdOut,
    lifted_at: timestamp,
  })
  .meta({ id: 'Lifted', description: 'A ban or mute that was lifted' });

export const action = z
  .enum(['ban', 'unban', 'mute', 'unmute'], { error: 'must be ban, unban, mute or unmute' })
  .meta({ description: 'What was decided', example: 'ban' });

export const logEntry = z
  .object({
    id: recordId,
    action,
    game_id: gameIdOut,
    game_username: username,
    reason: reasonOut.nullable(),
    moderator_game_id: moderatorGameId,
    moderator_chat_id: moderatorChatId,
    scope,
    place_id: placeIdOut,
    duration_seconds: z
      .int()
      .min(1)
      .nullable()
      .meta({ description: 'null when permanent, and of what was lifted', example: 604800 }),
    expires_at: expiresAt,
    source_server_id: serverOut,
    created_at: timestamp,
  })
  .meta({ id: 'ModerationLogEntry', description: 'One decision' });

const moderator = z
  .string()
  .nullable()
  .meta({ description: "The moderator's chat ID, else game ID; null when nobody was named", example: '7002' });

const info = { reason: reasonOut, created_at: timestamp, expires_at: expiresAt, is_permanent: isPermanent };

export const banInfo = z
  .object({ ...info, banned_by: moderator })
  .meta({ id: 'BanInfo', description: 'The ban in force; the global one where there are several' });
export const muteInfo = z
  .object({ ...info, muted_by: moderator })
  .meta({ id: 'MuteInfo', description: 'The mute in force; the global one where there are several' });

export const shieldEntry = z
  .object({
    game_id: gameIdOut,
    game_username: username,
    reason: reasonOut,
    category: z.string().meta({ description: 'What kind of player it is', example: 'exploiter' }),
    source: z.string().meta({ description: 'Who says so', example: 'operator' }),
    flagged_at: timestamp,
  })
  .meta({ id: 'ShieldEntry', description: 'A player on the flagged list' });
