import { z } from 'zod';
import { messageOf } from '../messages.ts';
import { gameId, optional, text, timestamp } from '../schemas.ts';
import { gameUsername, jsonObject, placeId } from './shapes.ts';

/** The maximum size of the payload of a command, in bytes of JSON. */
export const MAX_PAYLOAD_BYTES = 8 * 1024;

/** The player whom a command concerns, in a request. */
export const commandTarget = z
  .object({ game_id: gameId, game_username: optional(gameUsername) })
  .meta({ id: 'CommandTarget', description: 'Player whom the command concerns' });

/**
 * True if PostgreSQL can convert a value to jsonb, which the erasure of a user does: jsonb has neither the null
 * character nor unpaired surrogates, which JSON writes as escapes.
 */
function isStorable(value: unknown): boolean {
  const withoutBackslashes = JSON.stringify(value).replaceAll(String.raw`\\`, '');
  return !/\\u(?:0000|d[89a-f])/.test(withoutBackslashes);
}

/** The payload of any command. `validCommand` checks the fields that its type defines. */
export const commandPayload = jsonObject(MAX_PAYLOAD_BYTES).refine(isStorable, {
  error: 'must not hold the character U+0000 or broken Unicode',
});

const reason = optional(text(1, 400, { lines: true })).meta({
  id: 'CommandReason',
  description: 'Reason, for the player or the log of the game',
  example: 'spam',
});
const message = text(1, 1_000, { lines: true }).meta({ description: 'Text to show', example: 'Restart soon' });

/** A duration in whole seconds. */
const duration = (min: number, max: number) =>
  z
    .int({ error: 'must be a whole number' })
    .min(min, { error: `must be at least ${min}` })
    .max(max, { error: `must be at most ${max}` });

const MAX_DELAY_SECONDS = 3_600;
const MAX_DURATION_SECONDS = 1_000_000_000;

const liftPayload = z.looseObject({ reason });
const decisionPayload = z.looseObject({
  reason,
  duration_seconds: optional(duration(1, MAX_DURATION_SECONDS)).meta({
    description: 'Seconds from now',
    example: 3600,
  }),
  expires_at: optional(timestamp).meta({ description: 'End, in Unix seconds' }),
  is_permanent: optional(z.boolean({ error: 'must be true or false' })).meta({ description: 'True if it has no end' }),
  scope: optional(z.enum(['global', 'place'], { error: 'must be global or place' })).meta({
    description: 'Where it applies: in all places, or in one',
  }),
  place_id: optional(placeId).meta({ description: 'The place, with the scope `place`' }),
});
const messagePayload = z.looseObject({ text: message }).meta({ id: 'MessagePayload', description: 'A text to show' });
const shutdownPayload = z.looseObject({
  reason,
  delay_seconds: optional(duration(0, MAX_DELAY_SECONDS)).meta({
    description: 'Seconds until the server shuts down',
    example: 30,
  }),
});

/**
 * What each type of command requires. A payload may have further fields, which game servers receive unchanged: games
 * agree on them with their own systems.
 */
export const commandByType = z.discriminatedUnion('type', [
  z.object({
    type: z.enum(['kick', 'unban', 'unmute']),
    target: commandTarget,
    payload: optional(liftPayload),
  }),
  z.object({ type: z.enum(['ban', 'mute']), target: commandTarget, payload: optional(decisionPayload) }),
  z.object({ type: z.literal('message'), target: commandTarget, payload: messagePayload }),
  z.object({ type: z.literal('broadcast'), payload: messagePayload }),
  z.object({ type: z.literal('shutdown'), payload: optional(shutdownPayload) }),
  z.object({
    type: z.literal('custom'),
    payload: optional(z.looseObject({})).meta({ description: 'Any fields' }),
  }),
]);

/**
 * Adds the rules of `commandByType` to the body of a request. Its faults are reported together with all others of the
 * body. The union only checks the body: the payload stays as it was sent.
 */
export function checkedByType<Body extends z.ZodObject>(body: Body): Body {
  return body
    .superRefine(
      (value, context) => {
        const { error } = commandByType.safeParse(value, { error: messageOf });
        for (const { path, message: fault } of error?.issues ?? []) {
          context.addIssue({ code: 'custom', path, message: fault });
        }
      },
      { when: () => true },
    )
    .meta({ allOf: [commandByType] });
}
