import { z } from 'zod';
import type { AcceptInteractionRequest } from '#proto/gen/guild/auth/v1/interactions.ts';

/** The types of interactions that the chat platform sends for slash commands. */
export const PING = 1;
const APPLICATION_COMMAND = 2;

const MAX_OPTIONS = 25;
const id = z.string().regex(/^[1-9][0-9]{16,19}$/);

const commandSchema = z.object({
  type: z.literal(APPLICATION_COMMAND),
  id,
  application_id: id,
  token: z.string().regex(/^[\x21-\x7e]{1,1000}$/),
  // Missing if the command was not used in a guild.
  guild_id: id.optional(),
  member: z.object({ user: z.object({ id }), permissions: z.string().regex(/^[0-9]{1,30}$/) }).optional(),
  data: z.object({
    name: z.string().min(1).max(32),
    options: z
      .array(
        z.object({
          name: z.string().min(1).max(32),
          value: z.union([z.string().max(6_000), z.number(), z.boolean()]).optional(),
        }),
      )
      .max(MAX_OPTIONS)
      .optional(),
  }),
});

export type Interaction =
  | { type: 'ping' }
  | { type: 'command'; command: AcceptInteractionRequest | 'outside of a guild' };

/** Reads the JSON of an interaction; undefined if it is none of those that the platform sends for slash commands. */
export function readInteraction(body: Buffer): Interaction | undefined {
  const json = parse(body);
  if (z.object({ type: z.literal(PING) }).safeParse(json).success) return { type: 'ping' };
  const { data: interaction } = commandSchema.safeParse(json);
  if (!interaction) return undefined;
  const { guild_id: guildId, member, data } = interaction;
  if (guildId === undefined || !member) return { type: 'command', command: 'outside of a guild' };
  const command = {
    guildId,
    interactionId: interaction.id,
    applicationId: interaction.application_id,
    token: interaction.token,
    chatId: member.user.id,
    permissions: member.permissions,
    command: storable(data.name),
    options: (data.options ?? []).map(({ name, value }) => ({ name: storable(name), value: storable(value ?? '') })),
  };
  return { type: 'command', command };
}

/** PostgreSQL cannot store a NUL in JSON; the validation of the route rejects the other control characters. */
const storable = (text: string | number | boolean): string => String(text).replaceAll('\0', '\u{FFFD}');

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Only the person who used the command sees the response. */
const EPHEMERAL = 1 << 6;

/** The response to a PING, with which the platform checks the address. */
export const PONG = JSON.stringify({ type: 1 });
/** Tells the platform that the response is edited later: it shows that the command is being worked on. */
export const DEFERRED = JSON.stringify({ type: 5, data: { flags: EPHEMERAL } });
/** A response with a text, after which nothing follows. */
export const messageBody = (content: string): string =>
  JSON.stringify({ type: 4, data: { content, flags: EPHEMERAL, allowed_mentions: { parse: [] } } });
