import { vi } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { StaffAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { connect } from '../network/grpc.ts';
import { PATIENCE } from '../patience.ts';
import type { Call, CallResult, Network } from '../system/system.ts';

// As in the simulators' demo world.
const ADA = { chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' };
const OFFICER = '910000000000000001';
const CREW = 501;
const PLACE = 40001;
/** Keys that no gateway has cached yet. */
const UNKNOWN_KEYS = 6;
const SETUP = { ...PATIENCE, interval: 500 };

/** A guild with all data that the probes read, and its keys. */
export class Cell {
  readonly network: Network;
  readonly guild: string;
  key = '';
  bindingId = 0;
  #unknownKeys: string[] = [];
  #players = 1_000_000;

  constructor(network: Network, guild: string) {
    this.network = network;
    this.guild = guild;
  }

  /** Initial data: ADA is linked and staff, and a role is bound to a group. */
  async prepare(): Promise<this> {
    this.key = await this.#newKey(this.guild);
    await this.#makeUnknownKeys();
    const binding = {
      binding_type: 'group_rank',
      game_group_id: CREW,
      chat_role_id: OFFICER,
      min_rank: 50,
      max_rank: 255,
    };
    await this.#make('/verification/link', ADA);
    this.bindingId = Number((await this.#make('/bindings/add', binding)).data.id);
    await this.#makeStaff();
    return this;
  }

  get(path: string, options: Call = {}): Promise<CallResult> {
    return this.network.call(path, { key: this.key, headers: { 'x-guild-id': this.guild }, ...options });
  }

  post(path: string, body: object): Promise<CallResult> {
    return this.get(path, { method: 'POST', body: { guild_id: this.guild, ...body } });
  }

  /** A player without any data. */
  newPlayer(): number {
    return ++this.#players;
  }

  /** A request with a key that no gateway has cached. */
  async getUnknown(path: string): Promise<CallResult> {
    const key = this.#unknownKeys.at(-1);
    const answer = await this.network.call(path, { key });
    if (answer.status === 200) this.#unknownKeys.pop();
    return answer;
  }

  /** Waits while the machine is too busy. */
  #newKey(guildId: string): Promise<string> {
    return vi.waitFor(async () => (await this.network.createKey({ guildId })).secret, SETUP);
  }

  #make(path: string, body: object): Promise<CallResult['json']> {
    const headers = { 'x-guild-id': this.guild, 'idempotency-key': path };
    const options = { method: 'POST', headers, body: { guild_id: this.guild, ...body } };
    return vi.waitFor(async () => {
      const { status, json } = await this.get(path, options);
      if (status !== 201) throw new Error(`${path}: ${JSON.stringify(json)}`);
      return json;
    }, SETUP);
  }

  async #makeUnknownKeys(): Promise<void> {
    for (let number = 0; number < UNKNOWN_KEYS; number++) {
      this.#unknownKeys.push(await this.#newKey(`${this.guild.slice(0, -3)}${100 + number}`));
    }
  }

  async #makeStaff(): Promise<void> {
    const address = this.network.address('activity', 'grpc');
    const secrets = [this.network.secrets.admin];
    const { client, close } = connect(StaffAdminServiceService, 'activity', address, systemClock, secrets);
    const role = { level: 3, name: 'Officer', permissions: ['kick'], actor: 'test' };
    const set = () => client.setStaffRole({ guildId: this.guild, chatRoleId: OFFICER, ...role });
    await vi.waitFor(set, SETUP).finally(close);
  }
}

/** A request that depends on some components, with its status while all work. */
export interface Probe {
  well: number;
  call: (cell: Cell) => Promise<CallResult>;
}

export const PROBES = {
  'a known key': { well: 200, call: (cell) => cell.get('/whoami') },
  'an unknown key': { well: 200, call: (cell) => cell.getUnknown('/whoami') },
  'a link, read': { well: 200, call: (cell) => cell.get(`/lookup/game/${ADA.game_id}`) },
  'a link, made': {
    well: 201,
    call: (cell) => {
      const game_id = cell.newPlayer();
      return cell.post('/verification/link', { chat_id: `93000000000${game_id}`, game_id, game_username: 'Player' });
    },
  },
  usage: { well: 200, call: (cell) => cell.get(`/guilds/${cell.guild}/usage`) },
  'the set-up, checked': { well: 200, call: (cell) => cell.get(`/guilds/${cell.guild}/doctor`) },
  'the guild, counted': { well: 200, call: (cell) => cell.get(`/guilds/${cell.guild}/overview`) },
  'bindings, listed': { well: 200, call: (cell) => cell.get('/bindings/list') },
  'a group, checked': {
    well: 200,
    call: (cell) => cell.post('/bindings/validate', { game_group_id: cell.newPlayer(), min_rank: 1, max_rank: 2 }),
  },
  'a binding, previewed': {
    well: 202,
    call: (cell) => cell.post('/bindings/preview', { binding_id: cell.bindingId, min_rank: 100 }),
  },
  'a ban, read': {
    well: 200,
    call: (cell) => cell.get(`/moderation/${cell.guild}/ban-status/${ADA.game_id}?no_cache=true`),
  },
  'a person': { well: 200, call: (cell) => cell.get(`/guilds/${cell.guild}/people/${ADA.game_id}`) },
  'a ban, made': {
    well: 201,
    call: (cell) => cell.post(`/moderation/${cell.guild}/game/ban`, { game_id: cell.newPlayer(), reason: 'Cheats' }),
  },
  'a member': { well: 200, call: (cell) => cell.get(`/guilds/${cell.guild}/members/${ADA.chat_id}`) },
  'people, found': { well: 200, call: (cell) => cell.get(`/guilds/${cell.guild}/people?query=${ADA.game_id}`) },
  'names, resolved': {
    well: 200,
    call: (cell) => cell.post(`/guilds/${cell.guild}/names`, { chat_ids: [ADA.chat_id], game_ids: [ADA.game_id] }),
  },
  'roles, explained': {
    well: 200,
    call: (cell) => cell.get(`/guilds/${cell.guild}/members/${ADA.chat_id}/roles`),
  },
  'roles, weighed': {
    well: 200,
    call: (cell) => cell.post('/sync/roles', { chat_id: ADA.chat_id, dry_run: true }),
  },
  'a heartbeat': {
    well: 200,
    call: (cell) => {
      const server = { server_id: 'server-1', place_id: PLACE, player_count: 1, max_players: 30 };
      return cell.post('/game/servers/heartbeat', server);
    },
  },
  'commands, polled': { well: 200, call: (cell) => cell.get('/game/servers/server-2/commands') },
  permissions: {
    well: 200,
    call: (cell) => cell.get(`/guilds/${cell.guild}/staff/game/${ADA.game_id}/permissions`),
  },
} satisfies Record<string, Probe>;

export type ProbeName = keyof typeof PROBES;
export const PROBE_NAMES = Object.keys(PROBES) as ProbeName[];
