import { disableEndpointsOfKeys, markEndpointsDue, setScopesOfKeys } from '../store/endpoints.ts';
import { addRevokedKeys } from '../store/revoked-keys.ts';
import type { Disabling } from './disabling.ts';
import type { AppendHook } from './log.ts';
import type { OwnEvent } from './log-event.ts';

/** The events after which the endpoints of a key are disabled. Their data has the ID of the key. */
const REVOCATIONS = ['key.revoked', 'key.leaked'];
/** The event after which the endpoints of a key may read other types. */
const CHANGE = 'key.changed';

/**
 * Makes endpoints due for new events, gives them the changed scopes of their keys, and disables those of revoked keys, in
 * the transaction that stores the events.
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
      const changed = events.filter(({ type }) => type === CHANGE).map(keyOf);
      const scopes = new Map(changed.flatMap(({ id, scopes: now }) => (now === undefined ? [] : [[id, now] as const])));
      if (scopes.size > 0) await setScopesOfKeys(transaction, guildId, scopes);
      const keyIds = events.filter(({ type }) => REVOCATIONS.includes(type)).map((event) => keyOf(event).id);
      if (keyIds.length === 0) continue;
      await addRevokedKeys(transaction, guildId, keyIds);
      await disabling().report(transaction, await disableEndpointsOfKeys(transaction, guildId, keyIds));
    }
  };
}

/** The key that an event is about; its scopes are null for a legacy key, which may read all types. */
function keyOf({ data }: OwnEvent): { id: string; scopes: string[] | null | undefined } {
  const { id, scopes } = JSON.parse(data) as { id?: unknown; scopes?: string[] | null };
  return { id: String(id), scopes };
}
