import { createHash } from 'node:crypto';
import type { NewCommand } from '../store/commands.ts';

/**
 * The game servers that a command is sent to: one named server, every live server of a place, or every live server of
 * the guild.
 */
export type Recipients = { serverId: string } | { placeId: number } | { all: true };

/** A command to game servers, as an operator or a client of the REST API sends it. */
export interface CommandRequest {
  guildId: string;
  recipients: Recipients;
  command: NewCommand;
  /** The lifetime of the command. Undefined means 4 times the heartbeat interval, but at least 120 s. */
  ttlSeconds: number | undefined;
  /**
   * The operator's idempotency key: a repeated request with the same key sends no command and returns the first
   * response.
   */
  idempotencyKey: string | undefined;
}

/** A decision of the moderation service (such as a ban or mute) that game servers receive as a command. */
export interface Decision {
  eventId: string;
  /** The place whose servers receive the command; undefined for every place of the guild. */
  placeId?: number | undefined;
  /** The game server that sent the decision to the API. This server receives no command. */
  sourceServerId?: string | undefined;
  decidedAt: Date;
  /** When the ban or mute ends; the command expires at this time at the latest. */
  expiresAt: Date | undefined;
}

/**
 * Returns a SHA-256 digest of the fields that must be equal when a request is repeated with the same idempotency key.
 */
export function requestHash({ recipients, command, ttlSeconds }: CommandRequest): Buffer {
  const { type, target, payload } = command;
  const fields = [recipients, type, target?.gameId, target?.gameUsername, payload, ttlSeconds];
  return createHash('sha256').update(JSON.stringify(fields)).digest();
}
