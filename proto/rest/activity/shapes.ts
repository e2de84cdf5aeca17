import { z } from 'zod';
import { numberId, text } from '../schemas.ts';

const BRACED_UUID = /^\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?$/i;
const WRONG_UUID = 'must be a UUID';

/** A UUID that the client created. Luau's `GenerateGUID` puts braces around it. */
export const clientUuid = z
  .string({ error: WRONG_UUID })
  .refine((value) => BRACED_UUID.test(value), { error: WRONG_UUID })
  .transform((value) => value.replace(/[{}]/g, '').toLowerCase())
  .pipe(z.string())
  .meta({ type: 'string', format: 'uuid', example: 'f3b0c442-98fc-4c14-9afb-f4c8996fb924' });

/** What the document says about NOT_APPLICABLE for an empty server ID; the message to clients is longer. */
export const NO_SERVER_ID = 'The server ID is empty, as in unpublished servers';

export const placeId = numberId('a place ID').meta({ description: 'Place ID of the game', example: 40001 });
export const universeId = numberId('a universe ID').meta({
  description: 'Universe ID of the game that the place belongs to',
  example: 30001,
});
export const gameUsername = text(1, 50).meta({ description: 'Username in the game', example: 'AdaBuilds' });
export const pluginVersion = text(0, 64).meta({ description: 'Version of the calling plugin', example: '2.4.0' });

/** A number of seconds. Luau numbers are doubles, so fractions are accepted and rounded down. */
export const seconds = (description: string, example: number) =>
  z
    .number({ error: 'must be a number of seconds' })
    .min(0, { error: 'must be at least 0' })
    .max(1_000_000_000, { error: 'must be at most 1000000000' })
    .transform(Math.floor)
    .pipe(z.number())
    .meta({ type: 'number', minimum: 0, maximum: 1_000_000_000, description, example });

/** A whole number from 0 to `max`. */
export const count = (max: number, description: string, example: number) =>
  z
    .int({ error: 'must be a whole number' })
    .min(0, { error: 'must be at least 0' })
    .max(max, { error: `must be at most ${max}` })
    .meta({ description, example });

/** Any JSON object that takes at most `maxBytes` bytes as JSON. */
export const jsonObject = (maxBytes: number) =>
  z
    .record(z.string(), z.unknown(), { error: 'must be an object' })
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes, {
      error: `must have at most ${maxBytes} bytes as JSON`,
    });

/** The types of commands for game servers. */
export const COMMAND_TYPES = [
  'kick',
  'ban',
  'unban',
  'mute',
  'unmute',
  'message',
  'broadcast',
  'shutdown',
  'custom',
] as const;

export const commandType = z
  .enum(COMMAND_TYPES, { error: `must be one of ${COMMAND_TYPES.join(', ')}` })
  .meta({ id: 'CommandType', description: 'Type of the command', example: 'kick' });

export const ACK_STATUSES = ['success', 'failed', 'rejected'] as const;

export const ackStatus = z
  .enum(ACK_STATUSES, { error: `must be one of ${ACK_STATUSES.join(', ')}` })
  .meta({ id: 'AckStatus', description: 'Result of the command', example: 'success' });

/** The fields of an acknowledgement. */
export const ackFields = {
  status: ackStatus,
  result: z
    .unknown()
    .optional()
    .meta({ description: 'Result data, any JSON value', example: { kicked: true } }),
  error: text(0, 1_000, { lines: true })
    .nullish()
    .meta({ description: 'Reason why the command failed or was rejected' }),
};
