import type { World } from '../../world.ts';
import { tokenBot } from '../guilds.ts';
import { Refused } from './refused.ts';
import { GUILD_MEMBERS, type Shard } from './session.ts';

const ALL_INTENTS = (1 << 26) - 1;
const GUILD_PRESENCES = 1 << 8;
const MESSAGE_CONTENT = 1 << 15;
/** A shard may have at most this many guilds. */
export const MAX_GUILDS_PER_SHARD = 2500;

export type Identity = { shard: Shard; intents: number };

/** What a client identifies for; throws the platform's close code if it may not. */
export function readIdentity(world: World, data: Record<string, unknown>): Identity {
  const { token, intents, shard = [0, 1] } = data;
  if (typeof token !== 'string' || token === '' || world.guilds.size === 0) throw new Refused('authenticationFailed');
  if (!Number.isInteger(intents) || Number(intents) < 0 || Number(intents) > ALL_INTENTS)
    throw new Refused('invalidIntents');
  const wanted = Number(intents);
  const allowed = tokenBot(world).members_intent ? wanted & ~GUILD_MEMBERS : wanted;
  if (allowed & (GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT)) throw new Refused('disallowedIntents');
  return { shard: readShard(world, shard), intents: wanted };
}

function readShard(world: World, shard: unknown): Shard {
  const [id, count]: unknown[] = Array.isArray(shard) ? shard : [];
  const isValid = Number.isInteger(id) && Number.isInteger(count) && Number(id) >= 0 && Number(id) < Number(count);
  if (!isValid) throw new Refused('invalidShard');
  if (world.guilds.size > Number(count) * MAX_GUILDS_PER_SHARD) throw new Refused('shardingRequired');
  return [Number(id), Number(count)];
}
