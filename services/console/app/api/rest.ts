import type { Client } from '#clients/typescript/src/client.ts';
import type { CallOptions, Operation } from '#clients/typescript/src/operation.ts';
import { type Arguments, prepareRequest } from '#clients/typescript/src/request.ts';
import { send } from './http.ts';

/**
 * What the functions of `clients/typescript/src/operations.ts` need to call the REST API: a guild, and a way to send. The
 * console forwards the request with the rights of the person who is signed in.
 */
export type Rest = Client;

/**
 * The REST API for one guild: `banPlayer(rest, { game_id, reason })`. `onHeaders` receives the headers of every response.
 */
export function restOf(guildId: string, onHeaders?: (headers: Headers) => void): Rest {
  const request = (operation: Operation, args: object = {}, options: CallOptions = {}) => {
    const prepared = prepareRequest(operation, args as Arguments, { baseUrl: '', guildId, key: '' }, options);
    const { 'x-api-key': _, ...headers } = prepared.headers;
    return send({ ...prepared, headers: { ...headers, 'x-guild-id': guildId }, signal: options.signal, onHeaders });
  };
  // The client for programs has a key, retries and limits of its own, which a browser with a session does not need.
  return { guildId, request } as unknown as Rest;
}
