import { z } from 'zod';

/** The characters of a game server ID. */
export const SERVER_ID_CHARACTERS = /[A-Za-z0-9._:-]{1,64}/;
const SERVER_ID = new RegExp(`^${SERVER_ID_CHARACTERS.source}$`);
const WRONG_SERVER_ID = 'must be 1 to 64 of A-Z a-z 0-9 . _ : -';

const meta = {
  id: 'ServerId',
  pattern: SERVER_ID.source,
  description: 'ID that the game server chose for itself, such as its job ID',
  example: 'c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77',
};

/** A game server ID that must not be empty, for paths and gRPC. */
export const namedServerId = z
  .string({ error: WRONG_SERVER_ID })
  .refine((value) => SERVER_ID.test(value), { error: WRONG_SERVER_ID })
  .meta(meta);

/** A game server ID in a body. An empty one is well formed, but is rejected later with NOT_APPLICABLE. */
export const serverId = z
  .string({ error: WRONG_SERVER_ID })
  .refine((value) => value === '' || SERVER_ID.test(value), { error: WRONG_SERVER_ID })
  .meta(meta);
