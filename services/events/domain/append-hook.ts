import { disableEndpointsOfKeys, markEndpointsDue } from '../store/endpoints.ts';
import { addRevokedKeys } from '../store/revoked-keys.ts';
import type { Disabling } from './disabling.ts';
import type { AppendHook } from './log.ts';

/** The events after which the endpoints of a key are disabled. Their data has the ID of the key. */
const REVOCATIONS = ['key.revoked', 'key.leaked'];

/** Makes endpoints due for new events, and disables those of revoked keys, in the transaction that stores the events. */
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
      const keyIds = events.filter(({ type }) => REVOCATIONS.includes(type)).map(({ data }) => keyIdOf(data));
      if (keyIds.length === 0) continue;
      await addRevokedKeys(transaction, guildId, keyIds);
      await disabling().report(transaction, await disableEndpointsOfKeys(transaction, guildId, keyIds));
    }
  };
}

const keyIdOf = (data: string) => String((JSON.parse(data) as { id?: unknown }).id);
