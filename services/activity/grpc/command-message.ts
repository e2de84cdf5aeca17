import { z } from 'zod';
import { MAX_PAYLOAD_BYTES } from '#proto/rest/activity/command-payloads.ts';
import { COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';
import { gameId, guildId, text } from '#proto/rest/schemas.ts';
import type { NewCommand } from '../store/commands.ts';

const payload = z
  .string()
  .refine((value) => Buffer.byteLength(value) <= MAX_PAYLOAD_BYTES, { error: 'must have at most 8 KiB' })
  .transform((value, context) => {
    const object = parseObject(value || '{}');
    if (object) return object;
    context.addIssue({ code: 'custom', message: 'must be a JSON object' });
    return z.NEVER;
  });

/**
 * The schemas of the fields that all gRPC messages which send a command share. The field names are those of the REST
 * contract, because guildctl derives the names of its options from the paths of validation errors.
 */
export const commandSchemas = {
  guild_id: guildId,
  type: z.enum(COMMAND_TYPES, { error: `must be one of ${COMMAND_TYPES.join(', ')}` }),
  target: z.object({ game_id: gameId, game_username: text(1, 50).optional() }).optional(),
  payload,
};

interface CommandMessage {
  guildId: string;
  type: string;
  target?: { gameId: number; gameUsername?: string | undefined } | undefined;
  payload: string;
}

/** Returns the fields of a gRPC message under the names that `commandSchemas` checks. */
export const commandFields = ({ guildId: guild, type, target, payload: json }: CommandMessage) => ({
  guild_id: guild,
  type,
  target: target && { game_id: target.gameId, game_username: target.gameUsername },
  payload: json,
});

const commandSchema = z.object(commandSchemas);

/** Returns the command in a gRPC message that `commandSchemas` has checked. */
export function commandOf(
  { type, target, payload: content }: Omit<z.output<typeof commandSchema>, 'guild_id'>,
  issuedBy: string | undefined,
): NewCommand {
  const newTarget = target && { gameId: target.game_id, gameUsername: target.game_username };
  return { type, target: newTarget, payload: content, issuedBy };
}

/**
 * The latest time that a gRPC message may contain, in Unix seconds. A greater number was probably meant as
 * milliseconds.
 */
export const MAX_TIMESTAMP = 99_999_999_999;

function parseObject(value: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(value);
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
