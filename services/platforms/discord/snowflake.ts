/** 2015-01-01T00:00:00Z, the start of the chat platform's time scale. */
const EPOCH_MS = 1_420_070_400_000n;

/**
 * Returns the creation time that a chat ID contains: the bits above the lowest 22 are milliseconds (Discord API,
 * "Snowflakes").
 */
export function snowflakeTime(id: string): Date {
  return new Date(Number((BigInt(id) >> 22n) + EPOCH_MS));
}
