import { keyOf } from './front.ts';
import type { Caller } from './oracle.ts';

/** A client with its address. */
export interface Connection extends Caller {
  from: string;
}

/** A guild, its key and an address that no other connection of this process uses, so that no limit is shared. */
export function callerOf(number: number): Connection {
  const guild = String(900_000_000_000_000_000n + BigInt(number));
  const from = `127.${1 + ((number >> 16) & 127)}.${(number >> 8) & 255}.${number & 255}`;
  return { guild, key: keyOf(guild), from };
}
