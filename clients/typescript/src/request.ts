import type { CallOptions, Operation } from './operation.ts';

/** The arguments of a call: parameters of the path and the query, and fields of the body, by name. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Where requests go and who sends them. */
export interface Target {
  readonly baseUrl: string;
  readonly guildId: string;
  readonly key: string;
}

/** A request that can be sent any number of times. */
export interface PreparedRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Turns the arguments of a call into a request. Adds the guild, and an idempotency key if the operation writes. */
export function prepareRequest(
  operation: Operation,
  args: Arguments,
  target: Target,
  { headers = {}, idempotencyKey }: CallOptions,
): PreparedRequest {
  const { path, rest } = fillPath(operation, { guildId: target.guildId, ...args });
  const query = operation.hasBody ? '' : queryOf(rest);
  const guild = operation.guild === 'body' ? { guild_id: target.guildId } : {};
  return {
    url: target.baseUrl + path + (query && `?${query}`),
    method: operation.method,
    headers: {
      ...lowerCased(headers),
      'x-api-key': target.key,
      ...(operation.guild === 'header' && { 'x-guild-id': target.guildId }),
      ...(operation.writes && { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() }),
      ...(operation.hasBody && { 'content-type': 'application/json' }),
    },
    body: operation.hasBody ? JSON.stringify({ ...guild, ...rest }) : undefined,
  };
}

/** Replaces the parameters in the path of an operation, and returns the other arguments. */
function fillPath({ name, path }: Operation, args: Arguments): { path: string; rest: Arguments } {
  const { guildId, ...rest }: Record<string, unknown> = args;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const value = parameter === 'guildId' ? guildId : rest[parameter];
    delete rest[parameter];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    // URLs do not have such segments: the request would go to another path.
    if (['', '.', '..'].includes(text)) throw new TypeError(`${name} needs the argument ${parameter}`);
    return encodeURIComponent(text);
  });
  return { path: filled, rest };
}

function queryOf(args: Arguments): string {
  const given = Object.entries(args).filter(([, value]) => value !== undefined && value !== null);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

const lowerCased = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
