import { z } from 'zod';
import { numberId, text } from '../schemas.ts';

const BRACED_UUID = /^\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?$/i;
const WRONG_UUID = 'must be a UUID';

/** A UUID that the caller has made; Luau's `GenerateGUID` puts braces around it. */
export const callersUuid = z
  .string({ error: WRONG_UUID })
  .refine((value) => BRACED_UUID.test(value), { error: WRONG_UUID })
  .transform((value) => value.replace(/[{}]/g, '').toLowerCase())
  .pipe(z.string())
  .meta({ type: 'string', format: 'uuid', example: 'f3b0c442-98fc-4c14-9afb-f4c8996fb924' });

/** What an empty server ID is told. */
export const NO_SERVER_ID =
  'server_id is empty: a game opened in the editor has no job ID. Report only from published game servers';

export const placeId = numberId('a place ID').meta({ description: 'Place of the game', example: 40001 });
export const universeId = numberId('a universe ID').meta({
  description: 'The game that the place belongs to',
  example: 30001,
});
export const gameUsername = text(1, 50).meta({ description: 'The name in the game', example: 'AdaBuilds' });
export const pluginVersion = text(0, 64).meta({ description: 'Of the plugin that calls', example: '2.4.0' });

/** A number of something, as Luau has it: a double. Fractions are cut off. */
export const seconds = (description: string, example: number) =>
  z
    .number({ error: 'must be a number of seconds' })
    .min(0, { error: 'must be at least 0' })
    .max(1_000_000_000, { error: 'must be at most 1000000000' })
    .transform(Math.floor)
    .pipe(z.number())
    .meta({ type: 'number', minimum: 0, maximum: 1_000_000_000, description, example });

/** Whole numbers from 0. */
export const count = (max: number, description: string, example: number) =>
  z
    .int({ error: 'must be a whole number' })
    .min(0, { error: 'must be at least 0' })
    .max(max, { error: `must be at most ${max}` })
    .meta({ description, example });

/** Any JSON object of at most so many bytes as JSON. */
export const jsonObject = (maxBytes: number) =>
  z
    .record(z.string(), z.unknown(), { error: 'must be an object' })
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes, {
      error: `must have at most ${maxBytes} bytes as JSON`,
    });

/** What a game server can be told to do. */
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

export const ACK_STATUSES = ['success', 'failed', 'rejected'] as const;

export const ackStatus = z
  .enum(ACK_STATUSES, { error: `must be one of ${ACK_STATUSES.join(', ')}` })
  .meta({ description: 'What became of the command', example: 'success' });

/** What a server says about a command besides its status. */
export const ackFields = {
  status: ackStatus,
  result: z
    .unknown()
    .optional()
    .meta({ description: 'Whatever came of it, any JSON', example: { kicked: true } }),
  error: text(0, 1_000, { lines: true }).nullish().meta({ description: 'Why it failed or was rejected' }),
};
