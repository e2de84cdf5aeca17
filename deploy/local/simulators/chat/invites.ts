import { randomBytes } from 'node:crypto';
import type { Clock } from '../limits.ts';
import { addMember, type ChatGuild, newMember, type World } from '../world.ts';
import type { GuildEvents } from './events.ts';
import { viewRole } from './guilds.ts';
import { timestamp } from './member-view.ts';
import type { ChatUser } from './oauth.ts';

const MAX_INVITES = 10_000;

type Terms = {
  guildId: string;
  channelId: string;
  roles: string[];
  maxAge: number;
  maxUses: number;
  /** The persons who may accept it; null for everybody. */
  users: string[] | null;
};
export type Invite = Terms & { code: string; createdAt: number; uses: number };

/** The invites of all guilds. Whoever accepts one joins and gets its roles. */
export class Invites {
  readonly #world: World;
  readonly #events: GuildEvents;
  readonly #clock: Clock;
  readonly #invites = new Map<string, Invite>();

  constructor(world: World, events: GuildEvents, clock: Clock) {
    this.#world = world;
    this.#events = events;
    this.#clock = clock;
  }

  /** Creates an invite. Unless it has to be unique, an equal one that is still valid is returned again. */
  create(terms: Terms, unique: boolean): Invite {
    const key = JSON.stringify(terms);
    const equal = unique ? undefined : this.list().find((invite) => key === JSON.stringify(termsOf(invite)));
    if (equal) return equal;
    const invite = { ...terms, code: randomBytes(6).toString('base64url'), createdAt: this.#clock(), uses: 0 };
    const [oldest] = this.#invites.keys();
    if (this.#invites.size >= MAX_INVITES && oldest !== undefined) this.#invites.delete(oldest);
    this.#invites.set(invite.code, invite);
    return invite;
  }

  /** The invites that are still valid. */
  list(): Invite[] {
    return [...this.#invites.values()].filter((invite) => this.#isValid(invite));
  }

  /** Lets a person accept an invite. A member gets the roles too. Throws if the invite is not valid. */
  accept(code: string, user: ChatUser): void {
    const invite = this.#invites.get(code);
    const guild = this.#world.guilds.get(invite?.guildId ?? '');
    const isOpen = invite && this.#isValid(invite) && (invite.users?.includes(user.id) ?? true);
    if (!isOpen || !guild) throw new Error('Unknown Invite');
    invite.uses += 1;
    // A role that was deleted since the invite was created is not given.
    const roles = invite.roles.filter((id) => guild.roles.has(id));
    const member = guild.members.get(user.id);
    if (member) {
      member.roles = [...new Set([...member.roles, ...roles])];
      this.#events.memberChanged(guild, member);
    } else {
      const joined = { ...newMember(user, new Date(this.#clock()).toISOString()), roles };
      addMember(guild, joined);
      this.#events.memberAdded(guild, joined);
    }
  }

  /** An invite in the platform's format. */
  view(guild: ChatGuild, invite: Invite) {
    const { code, channelId, roles, maxAge, maxUses, uses, createdAt } = invite;
    const channel = guild.data.channels.find(({ id }) => id === channelId);
    return {
      type: 0,
      code,
      guild: { id: guild.data.id, name: guild.data.name },
      guild_id: guild.data.id,
      channel: { ...channel, type: 0 },
      roles: roles.flatMap((id) => guild.roles.get(id) ?? []).map((role) => viewRole(guild, role)),
      max_age: maxAge,
      max_uses: maxUses,
      uses,
      temporary: false,
      created_at: timestamp(createdAt),
      expires_at: maxAge === 0 ? null : timestamp(createdAt + maxAge * 1000),
    };
  }

  #isValid({ maxAge, maxUses, uses, createdAt }: Invite): boolean {
    const isOver = maxAge > 0 && this.#clock() >= createdAt + maxAge * 1000;
    return !isOver && (maxUses === 0 || uses < maxUses);
  }
}

const termsOf = ({ guildId, channelId, roles, maxAge, maxUses, users }: Invite): Terms => ({
  guildId,
  channelId,
  roles,
  maxAge,
  maxUses,
  users,
});
