import { disableEndpointsOfKeys, markEndpointsDue, setScopesOfKey } from '../store/endpoints.ts';
import { addRevokedKeys } from '../store/revoked-keys.ts';
import type { Disabling } from './disabling.ts';
import type { AppendHook } from './log.ts';

/**
 * The types of events about an API key after which the webhooks of that key are disabled. The event data contains the
 * key ID.
 */
const REVOCATIONS = ['key.revoked', 'key.leaked'];

/**
 * In the transaction that stores events: makes endpoints due for them, gives the endpoints of a changed key its scopes,
 * and disables those of revoked keys.
 */
export function webhookHook(disabling: () => Disabling): AppendHook {
  return async (transaction, appended) => {
    await markEndpointsDue(
      transaction,
      appended.map(({ guildId, newestSeq, events }) => ({
        guildId,
        newestSeq,
        types: new Set(events.map(({ type }) => type)),
      })),
    );
    for (const { guildId, events } of appended) {
      for (const { data } of events.filter(({ type }) => type === 'key.changed')) {
        const { id, scopes } = keyIn(data);
        if (scopes !== undefined) await setScopesOfKey(transaction, guildId, { keyId: String(id), scopes });
      }
      const keyIds = events.filter(({ type }) => REVOCATIONS.includes(type)).map(({ data }) => String(keyIn(data).id));
      if (keyIds.length === 0) continue;
      await addRevokedKeys(transaction, guildId, keyIds);
      await disabling().report(transaction, await disableEndpointsOfKeys(transaction, guildId, keyIds));
    }
  };
}

const keyIn = (data: string) => JSON.parse(data) as { id?: unknown; scopes?: string[] | null };
