const codes = {
  unknownOpcode: [4001, 'Unknown opcode'],
  decodeError: [4002, 'Decode error'],
  notAuthenticated: [4003, 'Not authenticated'],
  authenticationFailed: [4004, 'Authentication failed'],
  alreadyAuthenticated: [4005, 'Already authenticated'],
  invalidSeq: [4007, 'Invalid seq'],
  rateLimited: [4008, 'Rate limited'],
  invalidShard: [4010, 'Invalid shard'],
  shardingRequired: [4011, 'Sharding required'],
  invalidVersion: [4012, 'Invalid API version'],
  invalidIntents: [4013, 'Invalid intents'],
  disallowedIntents: [4014, 'Disallowed intents'],
} as const satisfies Record<string, readonly [number, string]>;

export type Refusal = keyof typeof codes;

/** Thrown to close a connection with one of the platform's codes. */
export class Refused extends Error {
  readonly code: number;

  constructor(refusal: Refusal) {
    super(codes[refusal][1]);
    this.code = codes[refusal][0];
  }
}
