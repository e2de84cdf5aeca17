import { z } from 'zod';

/** A chat ID: a snowflake as a string. */
export const snowflake = z
  .string()
  .regex(/^[1-9][0-9]{16,19}$/)
  .refine((id) => BigInt(id) <= 18446744073709551615n, 'is more than 64 bits');
/** A game ID: a positive integer that a double can hold. */
export const gameId = z.int().positive();
const time = z.iso.datetime({ offset: true }).default('2020-01-01T00:00:00Z');

export const roleSchema = z.strictObject({
  id: snowflake,
  name: z.string().min(1).max(100),
  position: z.int().min(1),
  managed: z.boolean().default(false),
  color: z.int().min(0).max(0xffffff).default(0),
  /** Default: MANAGE_NICKNAMES and MANAGE_ROLES for a role of the bot, none for other roles. */
  permissions: z
    .string()
    .regex(/^[0-9]{1,20}$/)
    .optional(),
});

const memberSchema = z.strictObject({
  id: snowflake,
  username: z.string().min(1),
  global_name: z.string().nullable().default(null),
  nick: z.string().nullable().default(null),
  roles: z.array(snowflake).default([]),
  joined_at: time,
  /** The end of the member's timeout; null or in the past: none. */
  communication_disabled_until: z.iso.datetime({ offset: true }).nullable().default(null),
});

const botSchema = z.strictObject({
  id: snowflake,
  username: z.string().min(1).default('guild-data'),
  roles: z.array(snowflake).default([]),
  /** Whether the privileged intent GUILD_MEMBERS is granted; listing members needs it. */
  members_intent: z.boolean().default(true),
});

/** The websocket; the interval is the platform's. */
const gatewaySchema = z.strictObject({ heartbeat_interval_ms: z.int().min(10).max(600_000).default(41_250) });

/** A person of the chat platform who may be in no guild. */
const chatUserSchema = memberSchema.pick({ id: true, username: true, global_name: true });

/** The application that persons allow to know who they are. */
const clientSchema = (client_id: string, client_secret: string) =>
  z
    .strictObject({ client_id: z.string().min(1), client_secret: z.string().min(1) })
    .default({ client_id, client_secret });

const openIdSchema = z
  .strictObject({
    client: clientSchema('guild-data', 'openid-client-secret'),
    persons: z
      .array(
        z.strictObject({
          sub: z.string().min(1).max(255),
          name: z.string().min(1),
          groups: z.array(z.string().min(1)).default([]),
        }),
      )
      .default([]),
  })
  .superRefine((provider, context) => {
    unique(context, ['persons'], provider.persons, (person) => person.sub, 'sub');
  });

const guildSchema = z
  .strictObject({
    id: snowflake,
    name: z.string().min(1),
    owner_id: snowflake.nullable().default(null),
    roles: z.array(roleSchema).default([]),
    members: z.array(memberSchema).default([]),
    /** Default: one channel, with the ID of the guild. */
    channels: z.array(z.strictObject({ id: snowflake, name: z.string().min(1) })).default([]),
    bot: botSchema,
  })
  .superRefine((guild, context) => {
    const roles = unique(context, ['roles'], guild.roles, (role) => role.id);
    const members = unique(context, ['members'], guild.members, (member) => member.id);
    for (const [index, role] of guild.roles.entries())
      if (role.id === guild.id) fault(context, ['roles', index, 'id'], '@everyone always exists');
    for (const [index, member] of guild.members.entries())
      known(context, ['members', index, 'roles'], member.roles, roles, 'role of the guild');
    if (members.has(guild.bot.id)) fault(context, ['bot', 'id'], 'the bot is not to be among the members');
    if (guild.owner_id !== null && !members.has(guild.owner_id))
      fault(context, ['owner_id'], `no such member of the guild: ${guild.owner_id}`);
  });

const itemSchema = z.strictObject({ id: gameId, name: z.string().min(1), description: z.string().default('') });

const groupSchema = z
  .strictObject({
    id: gameId,
    name: z.string().min(1),
    description: z.string().default(''),
    owner_id: gameId.nullable().default(null),
    /** Whether the list of members is hidden from the public. */
    members_hidden: z.boolean().default(false),
    roles: z.array(z.strictObject({ id: gameId, name: z.string().min(1), rank: z.int().min(0).max(255) })).default([]),
  })
  .superRefine((group, context) => {
    unique(context, ['roles'], group.roles, (role) => role.id);
    unique(context, ['roles'], group.roles, (role) => role.rank, 'rank');
  });

const userSchema = z.strictObject({
  id: gameId,
  name: z.string().min(1),
  display_name: z.string().min(1).optional(),
  previous_names: z.array(z.string()).default([]),
  description: z.string().default(''),
  created: time,
  banned: z.boolean().default(false),
  groups: z.array(z.strictObject({ group_id: gameId, ranks: z.array(z.int().min(1).max(255)).min(1) })).default([]),
  gamepasses: z.array(gameId).default([]),
  assets: z.array(gameId).default([]),
  badges: z.array(gameId).default([]),
  inventory_private: z.boolean().default(false),
  /** Other accounts of the same person: a restriction of one of them includes this user, unless it excludes such accounts. */
  alternate_accounts: z.array(gameId).default([]),
  /** True if Open Cloud, and the route for a user's groups, respond with 400 to every request about this user. */
  rejected: z.boolean().default(false),
});

/** An API key of Open Cloud with what it may do. A key that is not listed may do everything. */
const gameKeySchema = z.strictObject({
  key: z.string().min(1),
  name: z.string().min(1).default('key'),
  owner_id: gameId.default(1),
  /** Such as `universe.user-restriction:write`. */
  scopes: z.array(z.string().regex(/^[a-z.-]+:[a-z]+$/)).default([]),
  /** The universes that the key may be used for; null: all. */
  universe_ids: z.array(gameId).nullable().default(null),
  enabled: z.boolean().default(true),
  expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
});

const gameSchema = z
  .strictObject({
    keys: z.array(gameKeySchema).default([]),
    users: z.array(userSchema).default([]),
    groups: z.array(groupSchema).default([]),
    gamepasses: z.array(itemSchema).default([]),
    assets: z.array(itemSchema).default([]),
    badges: z.array(itemSchema).default([]),
  })
  .superRefine((game, context) => {
    unique(context, ['keys'], game.keys, ({ key }) => key, 'key');
    unique(context, ['groups'], game.groups, (group) => group.id);
    const users = unique(context, ['users'], game.users, (user) => user.id);
    unique(context, ['users'], game.users, (user) => user.name.toLowerCase(), 'name');
    const ranks = new Map(game.groups.map((group) => [group.id, new Set(group.roles.map((role) => role.rank))]));
    const items = {
      gamepasses: unique(context, ['gamepasses'], game.gamepasses, (item) => item.id),
      assets: unique(context, ['assets'], game.assets, (item) => item.id),
      badges: unique(context, ['badges'], game.badges, (item) => item.id),
    };
    for (const [index, group] of game.groups.entries())
      if (group.owner_id !== null && !users.has(group.owner_id))
        fault(context, ['groups', index, 'owner_id'], `no such user: ${group.owner_id}`);
    for (const [index, user] of game.users.entries()) {
      unique(context, ['users', index, 'groups'], user.groups, (membership) => membership.group_id, 'group_id');
      for (const [place, { group_id: id, ranks: held }] of user.groups.entries()) {
        const path = ['users', index, 'groups', place];
        const existing = ranks.get(id);
        if (existing) known(context, [...path, 'ranks'], held, existing, `rank of a role of group ${id}`);
        else fault(context, [...path, 'group_id'], `no such group: ${id}`);
      }
      for (const kind of ['gamepasses', 'assets', 'badges'] as const)
        known(context, ['users', index, kind], user[kind], items[kind], kind);
    }
  });

/** The world file: the data of both platforms and of the OpenID provider. Unknown fields, unknown references and duplicate IDs are faults. */
export const worldSchema = z.strictObject({
  chat: z
    .strictObject({
      guilds: z.array(guildSchema).default([]),
      users: z.array(chatUserSchema).default([]),
      gateway: gatewaySchema.prefault({}),
      oauth_client: clientSchema('940000000000000001', 'chat-client-secret'),
    })
    .prefault({})
    .superRefine((chat, context) => {
      unique(context, ['guilds'], chat.guilds, (guild) => guild.id);
      unique(context, ['users'], chat.users, (user) => user.id);
    }),
  game: gameSchema.prefault({}),
  openid: openIdSchema.prefault({}),
});

export type WorldData = z.output<typeof worldSchema>;
export type ChatGuildData = WorldData['chat']['guilds'][number];
export type ChatRole = ChatGuildData['roles'][number];
export type ChatMember = ChatGuildData['members'][number];
export type OpenIdPerson = WorldData['openid']['persons'][number];
export type GameUser = WorldData['game']['users'][number];
export type GameKey = WorldData['game']['keys'][number];
export type GameGroupData = WorldData['game']['groups'][number];
export type GameRole = GameGroupData['roles'][number];
export type GameItem = WorldData['game']['badges'][number];

type Path = (string | number)[];

function fault(context: z.RefinementCtx, path: Path, message: string): void {
  context.addIssue({ code: 'custom', path, message });
}

function unique<T, K>(context: z.RefinementCtx, path: Path, rows: T[], key: (row: T) => K, field = 'id'): Set<K> {
  const seen = new Set<K>();
  for (const [index, row] of rows.entries()) {
    if (seen.has(key(row))) fault(context, [...path, index, field], `is there twice: ${String(key(row))}`);
    seen.add(key(row));
  }
  return seen;
}

function known<K>(context: z.RefinementCtx, path: Path, ids: K[], existing: Set<K>, what: string): void {
  for (const [index, id] of ids.entries())
    if (!existing.has(id)) fault(context, [...path, index], `no such ${what}: ${String(id)}`);
}
