import { z } from 'zod';
import { gameServer, staffSession } from './activity/records.ts';
import { linkRecord } from './lookup.ts';
import { logEntry, punishment, shieldEntry } from './moderation/schemas.ts';
import { defineRoutes, route } from './route.ts';
import { gameId, gameIdOut, guildId } from './schemas.ts';
import type { Scope } from './scopes.ts';

/** The number of entries of the moderation log that a person has at most. */
export const MAX_PERSON_LOGS = 20;

/** The parts of a person for which a key needs a scope besides `moderation:read`. */
export const PERSON_PARTS = {
  link: 'lookup:read',
  session: 'activity:read',
  server: 'server:read',
} as const satisfies Record<string, Scope>;

export type PersonPart = keyof typeof PERSON_PARTS;

const parts = Object.keys(PERSON_PARTS) as [PersonPart, ...PersonPart[]];

const person = z
  .object({
    game_id: gameIdOut,
    ban: punishment.nullable().meta({
      description: 'The active ban: the global one, otherwise the newest of a place',
    }),
    mute: punishment.nullable().meta({
      description: 'The active mute: the global one, otherwise the newest of a place',
    }),
    flag: shieldEntry.nullable().meta({ description: 'Entry of the flagged list' }),
    logs: z.array(logEntry).meta({ description: `The newest ${MAX_PERSON_LOGS} entries of the moderation log` }),
    link: linkRecord.nullable().optional().meta({ description: 'The linked chat account. Scope `lookup:read`' }),
    session: staffSession
      .nullable()
      .optional()
      .meta({ description: 'The open staff session that started last. Scope `activity:read`' }),
    server: gameServer
      .nullable()
      .optional()
      .meta({ description: 'The live server that reports the player. Scope `server:read`' }),
    omitted: z.array(z.enum(parts)).meta({
      description: 'Parts that are left out because the key lacks their scope',
      example: ['link', 'session', 'server'],
    }),
  })
  .meta({ id: 'Person', description: 'What is known about one player' });

/** The route with which a moderator sees everything about one player. */
export const peopleRoutes = defineRoutes('moderation', {
  getPerson: route({
    method: 'GET',
    path: '/guilds/:guildId/people/:gameId',
    scope: 'moderation:read',
    category: 'moderation_read',
    guild: 'path',
    params: z.object({ guildId, gameId }),
    data: person,
    status: 200,
    message: 'Person read',
    summary: 'Get everything about one player',
    description:
      'The entry of the flagged list may be up to 10 s old. A player of whom nothing is known has nulls and an empty log.',
    writes: false,
  }),
});
