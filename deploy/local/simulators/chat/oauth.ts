import { AuthorizationServer, type Grant } from '../oauth/authorization-server.ts';
import type { PagePerson } from '../oauth/page.ts';
import type { Answer, Call, Route } from '../routes.ts';
import { done, ok } from '../routes.ts';
import type { ChatGuild, World } from '../world.ts';
import { ADMINISTRATOR, compareIds, MANAGE_GUILD } from '../world.ts';
import type { ChatMember } from '../world-schema.ts';
import { refuse, refuseField } from './errors.ts';
import { viewUser } from './guilds.ts';
import type { ChatRoute } from './limits.ts';

/** Seven days, like the platform's. */
const ACCESS_SECONDS = 604_800;
const LARGEST_PAGE = 200;
const EVERY_PERMISSION = (1n << 50n) - 1n;
const VIEW_CHANNEL = 1n << 10n;

export type ChatUser = Pick<ChatMember, 'id' | 'username' | 'global_name'>;

/** The persons of the chat platform: the members of all guilds, and those who are in none. */
export function usersOf(world: World): Map<string, ChatUser> {
  const { guilds, users } = world.data.chat;
  const all: ChatUser[] = [...users, ...guilds.flatMap(({ members }) => members)];
  return new Map(all.map((user) => [user.id, user]));
}

/** Sign-in with a chat account, and what the platform then tells about it. */
export class ChatOAuth {
  readonly #world: World;
  readonly #server: AuthorizationServer;

  constructor(world: World, clock: () => number) {
    this.#world = world;
    this.#server = new AuthorizationServer({
      clock,
      accessSeconds: ACCESS_SECONDS,
      client: () => world.data.chat.oauth_client,
      persons: () => this.#persons(),
      title: 'Sign in to the simulated chat platform',
      issuer: ({ headers }) => `http://${headers.host}`,
    });
  }

  routes(): ChatRoute[] {
    const server = this.#server;
    const token = (call: Call) => {
      const { grant, access_token, refresh_token } = server.token(call);
      return ok({
        token_type: 'Bearer',
        access_token,
        expires_in: ACCESS_SECONDS,
        refresh_token,
        scope: grant.scope,
      });
    };
    return [
      { method: 'GET', pattern: '/oauth2/authorize', limit: 'oauth', handle: (call) => server.authorize(call) },
      { method: 'POST', pattern: '/api/v10/oauth2/token', limit: 'oauth', handle: token },
      {
        method: 'GET',
        pattern: '/api/v10/users/@me/guilds',
        limit: 'own-guilds',
        handle: (call) => this.#guilds(call),
      },
    ];
  }

  controls(): Route[] {
    const withdraw = done(({ query }) => this.#server.withdraw(query.get('person') ?? undefined));
    const grant = ({ body }: Call) => {
      const { person, scope } = (body ?? {}) as Record<string, unknown>;
      const { access_token, refresh_token } = this.#server.grant(String(person), String(scope));
      return ok({ access_token, refresh_token }, 201);
    };
    return [
      { method: 'POST', pattern: '/__access_tokens', handle: grant },
      { method: 'DELETE', pattern: '/__grants', handle: withdraw },
      { method: 'DELETE', pattern: '/__access_tokens', handle: done(() => this.#server.expireAccess()) },
    ];
  }

  /** What the person of a bearer token allowed; undefined if the token is not valid. */
  grantOf(call: Call): Grant | undefined {
    return this.#server.grantOf(call);
  }

  /** The account that an access token of the application stands for, if its person granted the scope. */
  userOf(token: string, scope: string): ChatUser | undefined {
    const grant = this.#server.grantOfToken(token);
    return grant?.scope.split(' ').includes(scope) ? usersOf(this.#world).get(grant.person) : undefined;
  }

  /** The account of a bearer token. */
  self(call: Call): Answer {
    return ok(viewUser(this.#user(call, 'identify'), false));
  }

  #user(call: Call, scope: string): ChatUser {
    const grant = this.grantOf(call);
    const user = usersOf(this.#world).get(grant?.person ?? '') ?? refuse(401, 0, '401: Unauthorized');
    return grant?.scope.split(' ').includes(scope) ? user : refuse(403, 50001, 'Missing Access');
  }

  #guilds(call: Call): Answer {
    const { id } = this.#user(call, 'guilds');
    const limit = Number(call.query.get('limit') ?? LARGEST_PAGE);
    if (!(limit >= 1 && limit <= LARGEST_PAGE))
      refuseField('limit', 'NUMBER_TYPE_MAX', `int value should be between 1 and ${LARGEST_PAGE}.`);
    const after = call.query.get('after') ?? '0';
    const joined = [...this.#world.guilds.values()].filter(({ members }) => members.has(id));
    const sorted = joined.sort((left, right) => compareIds(left.data.id, right.data.id));
    const page = sorted.filter(({ data }) => compareIds(data.id, after) > 0).slice(0, limit);
    return ok(page.map((guild) => viewOwnGuild(guild, id)));
  }

  #persons(): PagePerson[] {
    return [...usersOf(this.#world).values()].map(({ id, username, global_name: name }) => {
      const joined = [...this.#world.guilds.values()].filter(({ members }) => members.has(id));
      const notes = joined.map((guild) => `${describe(guild, id)} of ${guild.data.name}`);
      return { id, name: name ?? username, note: notes.join(', ') || 'in no guild' };
    });
  }
}

function describe(guild: ChatGuild, id: string): string {
  if (guild.data.owner_id === id) return 'owner';
  const permissions = permissionsOf(guild, id);
  if (permissions & ADMINISTRATOR) return 'administrator';
  return permissions & MANAGE_GUILD ? 'manager' : 'member';
}

/** The permissions of a member in the whole guild. The owner has all. */
function permissionsOf({ data, roles, members }: ChatGuild, id: string): bigint {
  if (data.owner_id === id) return EVERY_PERMISSION;
  const held = (members.get(id)?.roles ?? []).map((role) => BigInt(roles.get(role)?.permissions ?? '0'));
  return held.reduce((all, permissions) => all | permissions, VIEW_CHANNEL);
}

/** The permissions of a member as interactions show them: an administrator has all. */
export function effectivePermissions(guild: ChatGuild, id: string): bigint {
  const permissions = permissionsOf(guild, id);
  return permissions & ADMINISTRATOR ? EVERY_PERMISSION : permissions;
}

function viewOwnGuild(guild: ChatGuild, id: string) {
  return {
    id: guild.data.id,
    name: guild.data.name,
    icon: null,
    banner: null,
    owner: guild.data.owner_id === id,
    permissions: String(permissionsOf(guild, id)),
    features: [],
  };
}
