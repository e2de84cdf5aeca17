import { z } from 'zod';
import type { Alternative } from '../alternatives.ts';
import { chatId, gameId, gameIdOut, optional, placeId, text, timestamp, trimmedText } from '../schemas.ts';
import { serverId } from '../server-id.ts';

const DURATION = /^([0-9]{1,12})([smhd]?)$/;
/** How the text of a duration is written, for the OpenAPI document and the types of generated clients. */
export const DURATION_PATTERN = '^(permanent|[0-9]{1,12}[smhd]?)$';
const SECONDS = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };
/** Ten years. A longer punishment must be permanent. */
export const MAX_DURATION_SECONDS = 3650 * 86_400;
const WRONG_DURATION = `must be permanent, or whole seconds or a text such as 30s, 5m, 1h or 7d, from 1 s to ${MAX_DURATION_SECONDS / SECONDS.d} days`;

/** A duration as seconds; null when it is permanent. */
const duration = z
  .union([z.number(), z.string()], { error: WRONG_DURATION })
  .transform((given, context) => {
    if (given === 'permanent') return null;
    const seconds = typeof given === 'number' ? given : secondsOf(given);
    if (Number.isSafeInteger(seconds) && seconds >= 1 && seconds <= MAX_DURATION_SECONDS) return seconds;
    context.addIssue({ code: 'custom', message: WRONG_DURATION });
    return z.NEVER;
  })
  .pipe(z.number().nullable())
  .meta({
    id: 'Duration',
    anyOf: [
      { type: 'integer', minimum: 1, maximum: MAX_DURATION_SECONDS },
      { type: 'string', pattern: DURATION_PATTERN },
    ],
    description: 'Seconds, or a text such as `30s`, `5m`, `1h`, `7d` or `permanent`; permanent if omitted',
    example: '7d',
  });

function secondsOf(text: string): number {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

export const reasonText = trimmedText(1, 400, { lines: true });

export const scope = z
  .enum(['global', 'place'], { error: 'must be global or place' })
  .meta({ id: 'DecisionScope', description: 'Whether it applies in all places or in one place', example: 'global' });

/** The moderator and the game server of a decision. */
const decidedBy = {
  moderator_game_id: optional(gameId.meta({ example: 7002 })).meta({ description: 'Game account ID of the moderator' }),
  moderator_chat_id: optional(chatId).meta({ description: 'Chat account ID of the moderator' }),
  source_server_id: optional(serverId).meta({
    description: 'Game server that decided; it receives no command about it',
  }),
};

/** Rejects `place_id` without scope `place`, and scope `place` without `place_id`. */
const placeHasScope = [
  (body: { scope?: unknown; place_id?: unknown }): boolean => (body.scope === 'place') === (body.place_id != null),
  { path: ['place_id' as PropertyKey], error: 'goes with scope place, which needs it', when: () => true },
] satisfies [unknown, unknown];

/** The forms of a decision: in one place, or in all. */
const alternatives: Alternative[] = [
  { required: [], absent: ['scope', 'place_id'] },
  { required: ['scope'], values: { scope: 'global' }, absent: ['place_id'] },
  { required: ['scope', 'place_id'], values: { scope: 'place' } },
];

/** The body of a ban or mute. */
export const punishBody = z
  .object({
    game_id: gameId,
    reason: reasonText.meta({ description: 'Reason, shown to the player', example: 'Used speed hacks' }),
    ...decidedBy,
    game_username: optional(text(1, 50)).meta({ description: 'Username in the game', example: 'AdaBuilds' }),
    duration: optional(duration),
    scope: optional(scope).meta({
      description: 'Whether it applies in all places or in one place; `global` if omitted',
    }),
    place_id: optional(placeId).meta({ description: 'Place ID; required for scope `place`' }),
    replace: optional(z.boolean({ error: 'must be true or false' })).meta({
      description: 'If true, an active entry in that scope is lifted first',
    }),
  })
  .refine(...placeHasScope)
  .meta({
    id: 'PunishmentRequest',
    alternatives,
    example: { game_id: 7001, reason: 'Used speed hacks', moderator_game_id: 7002, duration: '7d' },
  });

/** The body of an unban or unmute. */
export const liftBody = z
  .object({
    game_id: gameId,
    reason: optional(reasonText).meta({ description: 'Reason, for the moderation log', example: 'Appeal accepted' }),
    ...decidedBy,
    scope: optional(scope).meta({ description: 'Scope to lift; all active entries are lifted if omitted' }),
    place_id: optional(placeId).meta({ description: 'Place ID; required for scope `place`' }),
  })
  .refine(...placeHasScope)
  .meta({
    id: 'LiftRequest',
    alternatives,
    example: { game_id: 7001, reason: 'Appeal accepted', moderator_game_id: 7002 },
  });

const username = z
  .string()
  .nullable()
  .meta({ id: 'GameUsername', description: 'Username in the game', example: 'AdaBuilds' });
const moderatorGameId = gameIdOut.nullable().meta({ description: 'Game account ID of the moderator', example: 7002 });
const moderatorChatId = chatId.nullable().meta({ description: 'Chat account ID of the moderator', example: null });
const placeIdOut = gameIdOut.nullable().meta({ description: 'Place ID; null for scope `global`', example: null });
const serverOut = z.string().nullable().meta({ description: 'Game server that the decision came from', example: null });
const recordId = z
  .int()
  .min(1)
  .meta({ description: 'ID, unique in the guild. A newer entry has a higher ID', example: 81 });
export const expiresAt = timestamp
  .nullable()
  .meta({ id: 'DecisionEnd', description: 'Unix seconds; null if permanent', example: 1790604800 });
export const isPermanent = z.boolean().meta({ description: 'True if it never expires', example: false });
export const reasonOut = z
  .string()
  .meta({ id: 'Reason', description: 'Reason as it was sent', example: 'Used speed hacks' });

/** A ban or mute. */
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
  .meta({ id: 'Punishment', description: 'A ban or mute' });

/** The response to a ban or mute. */
export const createdPunishment = z
  .object({
    ...punishment.shape,
    ignored_fields: z
      .array(z.string())
      .optional()
      .meta({
        description: 'Unknown fields of the body, such as misspelt ones; present only if there were any',
        example: ['durration'],
      }),
  })
  .meta({ id: 'CreatedPunishment', description: 'A ban or mute that was created' });

/** The response to an unban or unmute. */
export const liftedPunishment = z
  .object({
    ...punishment.shape,
    lifted_at: timestamp,
    lifted_count: z.int().min(1).meta({
      description: 'Lifted entries. This one is the global one, or the newest if none is global',
      example: 1,
    }),
  })
  .meta({ id: 'LiftedPunishment', description: 'A lifted ban or mute' });

/** A ban or mute that was lifted before it expired. */
export const lifted = z
  .object({
    id: recordId.meta({ description: 'ID of the lifted ban or mute', example: 80 }),
    game_id: gameIdOut,
    scope,
    place_id: placeIdOut,
    lifted_at: timestamp,
  })
  .meta({ id: 'Lifted', description: 'A ban or mute that was lifted before it expired' });

export const action = z
  .enum(['ban', 'unban', 'mute', 'unmute'], { error: 'must be ban, unban, mute or unmute' })
  .meta({ id: 'ModerationAction', description: 'Kind of action', example: 'ban' });

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
      .meta({ description: 'Duration in seconds; null if permanent, and for `unban` and `unmute`', example: 604800 }),
    expires_at: expiresAt,
    source_server_id: serverOut,
    created_at: timestamp,
  })
  .meta({ id: 'ModerationLogEntry', description: 'One entry of the moderation log' });

const moderator = z.string().nullable().meta({
  description: "The moderator's chat account ID, otherwise the game account ID; null if no moderator was given",
  example: '7002',
});

const info = { reason: reasonOut, created_at: timestamp, expires_at: expiresAt, is_permanent: isPermanent };

export const banInfo = z
  .object({ ...info, banned_by: moderator })
  .meta({ id: 'BanInfo', description: 'The active ban; the global one if there are several' });
export const muteInfo = z
  .object({ ...info, muted_by: moderator })
  .meta({ id: 'MuteInfo', description: 'The active mute; the global one if there are several' });

export const shieldEntry = z
  .object({
    game_id: gameIdOut,
    game_username: username,
    reason: reasonOut,
    category: z.string().meta({ description: 'Category of the entry', example: 'exploiter' }),
    source: z.string().meta({ description: 'Origin of the entry', example: 'operator' }),
    flagged_at: timestamp,
  })
  .meta({ id: 'ShieldEntry', description: 'An entry of the flagged list' });
