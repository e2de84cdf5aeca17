import { randomUUID } from 'node:crypto';
import type { SecretRing } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, signPrincipal } from '#kit/security/principal.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { chatIdOf, type Guild, gameIdOf, userOf, usersIn, type World } from './world.ts';

export interface Request {
  method: string;
  /** Below the API's prefix. */
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface Scenario {
  name: string;
  /** The service that responds. */
  service: 'gateway' | 'lookup' | 'moderation' | 'activity';
  status: number;
  /** The number of different requests that are sent in turn. */
  variety: number;
  /** Default: the guild's own key. */
  key?: (world: World, guild: Guild) => string;
  make: (guild: Guild, user: (choice?: number) => number, number: number) => Request;
}

const PREFIX = '/api/v1';
const VARIETY = 20_000;
/** The number of users whose status stays cached. */
const POPULAR = 3;
const BATCH = 25;

const header = ({ id }: Guild) => ({ 'x-guild-id': id });
const batchOf = (user: () => number) => Array.from({ length: BATCH }, () => gameIdOf(user()));

const lookupByGame: Scenario['make'] = (guild, user) => ({
  method: 'GET',
  path: `/lookup/game/${gameIdOf(user())}`,
  headers: header(guild),
});
const status25: Scenario['make'] = (guild, user) => ({
  method: 'POST',
  path: `/moderation/${guild.id}/game/status`,
  body: { game_ids: batchOf(user) },
});
const banStatus: Scenario['make'] = (guild, user) => ({
  method: 'GET',
  path: `/moderation/${guild.id}/ban-status/${gameIdOf(user())}`,
});
const heartbeat: Scenario['make'] = (guild, _user, number) => ({
  method: 'POST',
  path: '/game/servers/heartbeat',
  body: { guild_id: guild.id, server_id: `server-${number % 4}`, place_id: 101, player_count: 21, max_players: 30 },
});
const poll: Scenario['make'] = (guild, _user, number) => ({
  method: 'GET',
  path: `/game/servers/server-${number % 4}/commands`,
  headers: header(guild),
});

/** The requests of a hundred game servers: statuses of joining players, heartbeats, polls and lookups. */
const MIX = [
  ...Array<Scenario['make']>(6).fill(banStatus),
  ...Array<Scenario['make']>(4).fill(heartbeat),
  ...Array<Scenario['make']>(4).fill(poll),
  ...Array<Scenario['make']>(4).fill(lookupByGame),
  ...Array<Scenario['make']>(2).fill(status25),
];

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'whoami',
    service: 'gateway',
    status: 200,
    variety: VARIETY,
    make: () => ({ method: 'GET', path: '/whoami' }),
  },
  {
    name: 'lookup by chat',
    service: 'lookup',
    status: 200,
    variety: VARIETY,
    make: (guild, user) => ({ method: 'GET', path: `/lookup/chat/${chatIdOf(user())}`, headers: header(guild) }),
  },
  { name: 'lookup by game', service: 'lookup', status: 200, variety: VARIETY, make: lookupByGame },
  { name: 'status of 25', service: 'moderation', status: 200, variety: VARIETY, make: status25 },
  {
    name: 'ban status, cached',
    service: 'moderation',
    status: 200,
    variety: VARIETY,
    make: (guild, user, number) => banStatus(guild, () => user(number % POPULAR), number),
  },
  { name: 'ban status, uncached', service: 'moderation', status: 200, variety: 10 * VARIETY, make: banStatus },
  { name: 'heartbeat', service: 'activity', status: 200, variety: VARIETY, make: heartbeat },
  { name: 'poll', service: 'activity', status: 200, variety: VARIETY, make: poll },
  {
    name: 'rejected 401',
    service: 'gateway',
    status: 401,
    variety: 10 * VARIETY,
    key: (_world, { key }) => `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`,
    make: (guild, user, number) => {
      const address = `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
      return { ...lookupByGame(guild, user, number), headers: { ...header(guild), 'x-forwarded-for': address } };
    },
  },
  {
    name: 'rejected 403',
    service: 'gateway',
    status: 403,
    variety: 1,
    key: ({ narrowKey }) => narrowKey,
    make: banStatus,
  },
  {
    name: 'rejected 429',
    service: 'gateway',
    status: 429,
    variety: 1,
    key: ({ spentKey }) => spentKey,
    make: lookupByGame,
  },
];

/** A mix of requests to several services. */
export const MIXED: Scenario = {
  name: 'a hundred game servers',
  service: 'gateway',
  status: 200,
  variety: 10 * VARIETY,
  make: (guild, user, number) => (MIX[number % MIX.length] as Scenario['make'])(guild, user, number),
};

/** The scenario's requests as clients send them, the same in every run. */
export function requestsOf(scenario: Scenario, world: World, seed = 1): string[] {
  return make(scenario, world, seed, (request, guild) =>
    toText({ ...request, headers: { ...request.headers, 'x-api-key': scenario.key?.(world, guild) ?? guild.key } }),
  );
}

/** The same requests as the gateway forwards them, valid for 30 s from now. */
export function signedRequestsOf(scenario: Scenario, world: World, ring: SecretRing, seed = 1): string[] {
  return make(scenario, world, seed, (request, guild) => {
    const principal = {
      keyId: guild.id,
      keyPrefix: `service_${guild.id}_test`,
      guildId: guild.id,
      scopes: [...SCOPES],
      legacy: false,
      requestId: randomUUID(),
    };
    const signedRequest = { audience: scenario.service, method: request.method, target: PREFIX + request.path };
    const signed = signPrincipal(ring, principal, signedRequest, Date.now());
    return toText({ ...request, headers: { ...request.headers, [PRINCIPAL_HEADER]: signed } });
  });
}

function make(
  scenario: Scenario,
  { guilds, users }: World,
  seed: number,
  text: (request: Request, guild: Guild) => string,
): string[] {
  const random = seededRandom(seed);
  return Array.from({ length: scenario.variety }, (_, number) => {
    const index = number % guilds.length;
    const guild = guilds[index] as Guild;
    const count = usersIn(index, users);
    const user = (choice = wholeNumber(random, count)) => userOf(index, choice % count);
    return text(scenario.make(guild, user, number), guild);
  });
}

function toText({ method, path, headers = {}, body }: Request): string {
  const content = body === undefined ? '' : JSON.stringify(body);
  const all: Record<string, string> = { host: '127.0.0.1', 'user-agent': 'Roblox/Linux', accept: '*/*', ...headers };
  if (content) Object.assign(all, { 'content-type': 'application/json', 'content-length': String(content.length) });
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${PREFIX}${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`;
}
