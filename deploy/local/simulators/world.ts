import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { pathOf } from '#kit/files.ts';
import { Application } from './chat/interactions/application.ts';
import { Secrets } from './game/secrets.ts';
import type {
  ChatGuildData,
  ChatMember,
  ChatRole,
  GameGroupData,
  GameItem,
  GameRole,
  GameUser,
  WorldData,
} from './world-schema.ts';
import { worldSchema } from './world-schema.ts';

export const CREATE_INSTANT_INVITE = 1n << 0n;
export const ADMINISTRATOR = 1n << 3n;
export const MANAGE_GUILD = 1n << 5n;
export const MANAGE_NICKNAMES = 1n << 27n;
export const MANAGE_ROLES = 1n << 28n;
export const MODERATE_MEMBERS = 1n << 40n;
/** The permissions of a bot that the world does not describe. */
const BOT_PERMISSIONS = String(CREATE_INSTANT_INVITE | MANAGE_NICKNAMES | MANAGE_ROLES | MODERATE_MEMBERS);

const demoWorld = pathOf('deploy/local/simulators/demo-world.json');

/** A guild with its indexes. `members` includes the bot; `sorted` is all members by ID, the platform's page order. */
export type ChatGuild = {
  data: ChatGuildData;
  roles: Map<string, ChatRole>;
  members: Map<string, ChatMember>;
  sorted: ChatMember[];
};

/** A group with its indexes. `members` is by user ID; the roles of each are sorted, highest first. */
export type GameGroup = {
  data: GameGroupData;
  roles: Map<number, GameRole>;
  members: Map<number, GameMembership>;
  counts: Map<number, number>;
};
export type GameMembership = { user: GameUser; group: GameGroup; roles: [GameRole, ...GameRole[]] };

/** The data of the platforms and of the OpenID provider, with an index for every lookup. The indexes share their objects with `data`. */
export class World {
  data!: WorldData;
  guilds!: Map<string, ChatGuild>;
  users!: Map<number, GameUser>;
  usersByName!: Map<string, GameUser>;
  groups!: Map<number, GameGroup>;
  gamepasses!: Map<number, GameItem>;
  assets!: Map<number, GameItem>;
  badges!: Map<number, GameItem>;
  readonly #replaced = new Set<() => void>();
  /** The application of the bot with the key that signs interactions; it stays when the world is replaced. */
  readonly application: Application;
  /** The secrets of universes; they stay too. */
  readonly secrets = new Secrets();

  /** Throws an error that lists every fault with its path. */
  constructor(input: unknown, application = new Application()) {
    this.application = application;
    this.replace(input);
  }

  /** Replaces the world. An invalid one throws and changes nothing. */
  replace(input: unknown): void {
    const parsed = worldSchema.safeParse(input);
    if (!parsed.success) throw new Error(`The simulated world has faults:\n${listFaults(parsed.error)}`);
    const { chat, game } = parsed.data;
    this.data = parsed.data;
    this.guilds = new Map(chat.guilds.map((guild) => [guild.id, indexGuild(guild)]));
    this.users = byId(game.users);
    // A current name has precedence over another user's former name.
    const former = game.users.flatMap((user) => user.previous_names.map((name) => [name.toLowerCase(), user] as const));
    this.usersByName = new Map([...former, ...game.users.map((user) => [user.name.toLowerCase(), user] as const)]);
    this.groups = new Map(game.groups.map((group) => [group.id, indexGroup(group)]));
    for (const user of [...game.users].sort((left, right) => left.id - right.id))
      for (const membership of user.groups) this.#enrol(user, membership);
    this.gamepasses = byId(game.gamepasses);
    this.assets = byId(game.assets);
    this.badges = byId(game.badges);
    for (const listener of this.#replaced) listener();
  }

  /** Calls a listener after each replacement of the world. */
  onReplace(listener: () => void): void {
    this.#replaced.add(listener);
  }

  /** Gives a user other ranks in a group; without ranks the user is no member. Throws if any of them is unknown. */
  setRanks(userId: number, groupId: number, ranks: number[]): void {
    const user = this.users.get(userId);
    const group = this.groups.get(groupId);
    const unknown = ranks.find((rank) => !group?.data.roles.some((role) => role.rank === rank));
    if (!user || !group || unknown !== undefined) throw new Error('There is no such user, group or rank');
    for (const role of group.members.get(userId)?.roles ?? [])
      group.counts.set(role.id, (group.counts.get(role.id) ?? 1) - 1);
    group.members.delete(userId);
    user.groups = user.groups.filter((membership) => membership.group_id !== groupId);
    if (ranks.length === 0) return;
    const membership = { group_id: groupId, ranks };
    user.groups.push(membership);
    this.#enrol(user, membership);
  }

  #enrol(user: GameUser, { group_id: id, ranks }: GameUser['groups'][number]): void {
    const group = this.groups.get(id);
    if (!group) return;
    const roles = group.data.roles
      .filter((role) => ranks.includes(role.rank))
      .sort((left, right) => right.rank - left.rank);
    group.members.set(user.id, { user, group, roles: roles as GameMembership['roles'] });
    for (const role of roles) group.counts.set(role.id, (group.counts.get(role.id) ?? 0) + 1);
  }
}

/** Reads a world file; without a path the demo world. Throws an error with every fault and its path. */
export function loadWorld(path: string | undefined, application?: Application): World {
  return new World(JSON.parse(readFileSync(path ?? demoWorld, 'utf8')), application);
}

function indexGuild(data: ChatGuildData): ChatGuild {
  addBotRoles(data);
  addPermissions(data);
  // The oldest text channel of the platform's guilds once had the ID of its guild.
  if (data.channels.length === 0) data.channels.push({ id: data.id, name: 'general' });
  const { id, username, roles } = data.bot;
  const bot: ChatMember = { ...newMember({ id, username, global_name: null }, '2020-01-01T00:00:00Z'), roles };
  const sorted = [...data.members, bot].sort((left, right) => compareIds(left.id, right.id));
  return { data, roles: byId(data.roles), members: byId(sorted), sorted };
}

/** A member without roles, who joined at the given time. */
export function newMember(user: Pick<ChatMember, 'id' | 'username' | 'global_name'>, joinedAt: string): ChatMember {
  const { id, username, global_name } = user;
  return { id, username, global_name, nick: null, roles: [], joined_at: joinedAt, communication_disabled_until: null };
}

/** Adds a member to a guild and its indexes. */
export function addMember(guild: ChatGuild, member: ChatMember): void {
  guild.data.members.push(member);
  guild.members.set(member.id, member);
  const index = guild.sorted.findIndex((other) => compareIds(other.id, member.id) > 0);
  guild.sorted.splice(index < 0 ? guild.sorted.length : index, 0, member);
}

/** Removes a member from a guild and its indexes. */
export function removeMember(guild: ChatGuild, member: ChatMember): void {
  guild.data.members.splice(guild.data.members.indexOf(member), 1);
  guild.members.delete(member.id);
  guild.sorted.splice(guild.sorted.indexOf(member), 1);
}

/** Adds the managed role of the bot. If the world file names but does not describe it, it is above all other roles. */
function addBotRoles(data: ChatGuildData): void {
  for (const id of data.bot.roles) {
    if (data.roles.some((role) => role.id === id)) continue;
    const position = Math.max(0, ...data.roles.map((role) => role.position)) + 1;
    data.roles.push({ id, name: data.bot.username, position, managed: true, color: 0 });
  }
}

/** Without permissions in the file, the bot has those that it needs. */
function addPermissions(data: ChatGuildData): void {
  for (const role of data.roles) {
    role.permissions ??= data.bot.roles.includes(role.id) ? BOT_PERMISSIONS : '0';
  }
}

/** True if any of the bot's roles has the permission; ADMINISTRATOR includes all others. */
export function botMay({ data, roles }: ChatGuild, permission: bigint): boolean {
  const held = data.bot.roles.map((id) => BigInt(roles.get(id)?.permissions ?? '0'));
  return held.some((permissions) => (permissions & (ADMINISTRATOR | permission)) !== 0n);
}

function indexGroup(data: GameGroupData): GameGroup {
  return { data, roles: byId(data.roles), members: new Map(), counts: new Map() };
}

function byId<K, T extends { id: K }>(rows: T[]): Map<K, T> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** Compares two snowflakes as numbers. */
export function compareIds(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : Number(left > right);
}

/** A line for each fault: its path in code notation, and the message. */
export function listFaults(error: z.core.$ZodError): string {
  return error.issues.map((issue) => `  ${z.core.toDotPath(issue.path) || '(the whole)'}: ${issue.message}`).join('\n');
}
