import { z } from 'zod';

const SERVER_ID = /^[A-Za-z0-9._:-]{1,64}$/;
const WRONG_SERVER_ID = 'must be 1 to 64 of A-Z a-z 0-9 . _ : -';

const meta = {
  pattern: SERVER_ID.source,
  description: "The game server's own name for itself, such as its job ID",
  example: 'c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77',
};

/** A game server, where an empty one is malformed: in paths and in gRPC. */
export const namedServerId = z
  .string({ error: WRONG_SERVER_ID })
  .refine((value) => SERVER_ID.test(value), { error: WRONG_SERVER_ID })
  .meta(meta);

/** A game server, in a body. Empty passes: it is well formed, and can not be served (NOT_APPLICABLE). */
export const serverId = z
  .string({ error: WRONG_SERVER_ID })
  .refine((value) => value === '' || SERVER_ID.test(value), { error: WRONG_SERVER_ID })
  .meta(meta);
