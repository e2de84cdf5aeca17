import type { ChatGuild } from '../world.ts';
import type { ChatMember, ChatRole } from '../world-schema.ts';
import { viewRole, viewUser } from './guilds.ts';
import { viewMember } from './member-view.ts';

/** A change of a guild, as the websocket reports it. */
export type GuildEvent = { type: string; guildId: string; data: object };
type Listener = (event: GuildEvent) => void;

/** Tells the websocket what changes in the guilds. A change of the world that bypasses this is a change without an event. */
export class GuildEvents {
  readonly #listeners = new Set<Listener>();

  /** Calls a listener with every later event; returns the function that ends this. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  memberAdded(guild: ChatGuild, member: ChatMember): void {
    this.#emit('GUILD_MEMBER_ADD', guild, viewMember(guild, member));
  }

  memberChanged(guild: ChatGuild, member: ChatMember): void {
    this.#emit('GUILD_MEMBER_UPDATE', guild, viewMember(guild, member));
  }

  memberRemoved(guild: ChatGuild, member: ChatMember): void {
    this.#emit('GUILD_MEMBER_REMOVE', guild, { user: viewUser(member, false) });
  }

  roleCreated(guild: ChatGuild, role: ChatRole): void {
    this.#emit('GUILD_ROLE_CREATE', guild, { role: viewRole(guild, role) });
  }

  roleChanged(guild: ChatGuild, role: ChatRole): void {
    this.#emit('GUILD_ROLE_UPDATE', guild, { role: viewRole(guild, role) });
  }

  roleDeleted(guild: ChatGuild, roleId: string): void {
    this.#emit('GUILD_ROLE_DELETE', guild, { role_id: roleId });
  }

  #emit(type: string, guild: ChatGuild, data: object): void {
    const event = { type, guildId: guild.data.id, data: { guild_id: guild.data.id, ...data } };
    for (const listener of this.#listeners) listener(event);
  }
}
