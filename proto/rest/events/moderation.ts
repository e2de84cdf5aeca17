import { z } from 'zod';
import { punishment, shieldEntry } from '../moderation/schemas.ts';
import { gameIdOut, timestamp } from '../schemas.ts';
import { eventType } from './event-type.ts';

/** The fields of a ban or mute that name persons. */
const DECISION_PERSONS = { game: ['game_id', 'moderator_game_id'], chat: ['moderator_chat_id'] } as const;

const lifted = z
  .object({ ...punishment.shape, lifted_at: timestamp })
  .meta({ id: 'LiftedPunishmentEvent', description: 'A ban or mute that was lifted before its end' });

const banDrift = z
  .object({
    game_id: gameIdOut,
    universe_id: z.int().min(1),
    place_id: z.int().min(1).nullable(),
    ban_id: z.int().nullable(),
  })
  .meta({ id: 'BanDriftEvent', description: 'A ban, if any, that differed from the game platform' });

export const moderationEvents = {
  'ban.created': eventType({
    scope: 'moderation:read',
    summary: 'A player was banned',
    data: punishment,
    persons: DECISION_PERSONS,
  }),
  'ban.lifted': eventType({
    scope: 'moderation:read',
    summary: 'A ban was lifted before its end',
    data: lifted,
    persons: DECISION_PERSONS,
  }),
  'ban.expired': eventType({
    scope: 'moderation:read',
    summary: 'A ban ended',
    data: punishment,
    persons: DECISION_PERSONS,
  }),
  'ban.drifted': eventType({
    scope: 'moderation:read',
    summary: 'A ban differed unexpectedly from the game platform; both are made equal',
    data: banDrift,
    persons: { game: ['game_id'] },
  }),
  'mute.created': eventType({
    scope: 'moderation:read',
    summary: 'A player was muted',
    data: punishment,
    persons: DECISION_PERSONS,
  }),
  'mute.lifted': eventType({
    scope: 'moderation:read',
    summary: 'A mute was lifted before its end',
    data: lifted,
    persons: DECISION_PERSONS,
  }),
  'mute.expired': eventType({
    scope: 'moderation:read',
    summary: 'A mute ended',
    data: punishment,
    persons: DECISION_PERSONS,
  }),
  'shield.added': eventType({
    scope: 'moderation:read',
    summary: 'A player was put on the flagged list of the guild',
    data: shieldEntry,
    persons: { game: ['game_id'] },
  }),
  'shield.removed': eventType({
    scope: 'moderation:read',
    summary: 'A player was taken off the flagged list of the guild, or the entry expired',
    data: shieldEntry,
    persons: { game: ['game_id'] },
  }),
};
