import type { z } from 'zod';
import type { Transaction } from '#kit/postgres/pool.ts';
import type { ChatMember } from '#platforms/chat.ts';
import * as payloads from '#platforms/discord/gateway/payloads.ts';
import type { GatewayDispatch } from '#platforms/discord/gateway/shard.ts';
import type { MemberChange, OnMemberChanges } from '../domain/member-changes.ts';
import { beginSession, type ShardName } from '../store/chat-shards.ts';
import * as store from '../store/mirror-events.ts';
import type { MirrorTelemetry } from '../telemetry/mirror.ts';

/** The session to which events belong, as the mirror knows it. */
export interface SessionState extends ShardName {
  epoch: string;
  botId: string;
  /** The number of the event that is being stored. */
  sequence: number;
  /** Joins, leaves and role changes in the events that this transaction stores. */
  changes: MemberChange[];
}

export interface MirrorWriterOptions {
  /**
   * Called one after the other with the changes of members of a transaction, if there are any, when all of its events are
   * stored.
   */
  onChanges: readonly OnMemberChanges[];
  telemetry: MirrorTelemetry;
}

/** An event that was checked and reduced to what is stored of it. */
export interface PreparedEvent extends Omit<GatewayDispatch, 'data'> {
  /** The number of roles and members in it. */
  parts: number;
  /** Stores the event, and what follows from it. It may change the state of the session. */
  store: (on: Transaction, state: SessionState) => Promise<void>;
}

/** Stores events of one type. */
type Handler<Data> = (on: Transaction, data: Data, state: SessionState) => Promise<void>;

type Prepared = Pick<PreparedEvent, 'parts' | 'store'>;
/** An event of which nothing is stored. */
const IGNORED: Prepared = { parts: 0, store: async () => undefined };

/** Stores the events of the chat platform's websocket in the mirror. */
export class MirrorWriter {
  readonly #options: MirrorWriterOptions;
  readonly #handlers: ReadonlyMap<string, (data: unknown) => Prepared>;

  constructor(options: MirrorWriterOptions) {
    this.#options = options;
    this.#handlers = new Map([
      ['READY', prepareSession],
      this.#on('GUILD_CREATE', payloads.createdGuildSchema, (on, data, state) => createGuild(on, data, state)),
      this.#on('GUILD_UPDATE', payloads.changedGuildSchema, (on, { id: guildId, owner_id: ownerId = null, roles }) =>
        store.updateGuild(on, { guildId, ownerId, roles }),
      ),
      this.#on('GUILD_DELETE', payloads.removedGuildSchema, (on, { id, unavailable }) =>
        unavailable === undefined ? store.deleteGuild(on, id) : store.setUnavailable(on, id),
      ),
      this.#on('GUILD_ROLE_CREATE', payloads.storedRoleSchema, storeRole),
      this.#on('GUILD_ROLE_UPDATE', payloads.storedRoleSchema, storeRole),
      this.#on('GUILD_ROLE_DELETE', payloads.deletedRoleSchema, (on, { guild_id: guildId, role_id: roleId }) =>
        store.storeRole(on, guildId, roleId, null),
      ),
      this.#on('GUILD_MEMBER_ADD', payloads.changedMemberSchema, (on, data, state) =>
        storeMember('joined', on, payloads.toMember(data), state),
      ),
      this.#on('GUILD_MEMBER_UPDATE', payloads.changedMemberSchema, (on, data, state) =>
        storeMember('changed', on, payloads.toMember(data), state),
      ),
      this.#on('GUILD_MEMBER_REMOVE', payloads.removedMemberSchema, (on, data, state) =>
        removeMember(on, { guildId: data.guild_id, chatId: data.user.id }, state),
      ),
    ]);
  }

  /** Checks an event when it is received, so that what is not stored of it does not wait in memory. */
  prepare({ data, ...event }: GatewayDispatch): PreparedEvent {
    return { ...event, ...(this.#handlers.get(event.type)?.(data) ?? IGNORED) };
  }

  /** Stores events in their order, and then what follows from them. */
  async write(
    transaction: Transaction,
    events: readonly PreparedEvent[],
    { epoch, botId, ...shard }: ShardName & { epoch: string | null; botId: string | null },
  ): Promise<void> {
    const state: SessionState = { ...shard, epoch: epoch ?? '', botId: botId ?? '', sequence: 0, changes: [] };
    for (const { store: storeEvent, sequence } of events) {
      state.sequence = sequence;
      await storeEvent(transaction, state);
    }
    if (state.changes.length === 0) return;
    for (const handler of this.#options.onChanges) await handler(transaction, state.changes);
  }

  #on<Data extends object>(type: string, schema: z.ZodType<Data>, handler: Handler<Data>) {
    const prepare = (data: unknown): Prepared => {
      const parsed = schema.safeParse(data);
      if (parsed.success) {
        const known = parsed.data;
        return { parts: partsOf(known), store: (on, state) => handler(on, known, state) };
      }
      // A guild about which an event cannot be read is not current until the platform sends it again.
      const guildId = payloads.guildOf(data);
      this.#options.telemetry.unreadable(type, parsed.error);
      return guildId === undefined ? IGNORED : { parts: 0, store: (on) => store.setUnavailable(on, guildId) };
    };
    return [type, prepare] as const;
  }
}

async function storeMember(
  kind: 'joined' | 'changed',
  on: Transaction,
  { guildId, member }: { guildId: string; member: ChatMember },
  { botId, changes }: SessionState,
): Promise<void> {
  const { chatId, roles, timeoutUntil } = member;
  if (chatId === botId) return store.storeBotRoles(on, guildId, roles);
  const { epoch, isUsed, member: known } = await store.findBefore(on, { guildId, chatId });
  if (epoch !== undefined && isUsed) await store.storeMember(on, guildId, member, epoch);
  // The platform may report the join of somebody who is a member already.
  const isKnown = known?.isOfEpoch === true;
  const change: MemberChange = {
    guildId,
    chatId,
    kind: isKnown ? 'changed' : kind,
    roles: { before: known?.roles, after: roles },
    timeoutUntil: { before: known?.timeoutUntil ?? null, after: timeoutUntil },
  };
  if (known && change.kind === 'changed' && !isDifferent(change)) return;
  changes.push(change);
}

async function removeMember(
  on: Transaction,
  { guildId, chatId }: { guildId: string; chatId: string },
  { botId, changes }: SessionState,
): Promise<void> {
  if (chatId === botId) return;
  const { isUsed, member } = await store.findBefore(on, { guildId, chatId });
  // Also if the mirror does not have the member: a read that began before may still bring it.
  if (isUsed || member) await store.storeLeft(on, { guildId, chatId });
  changes.push({
    guildId,
    chatId,
    kind: 'left',
    roles: { before: member?.roles, after: [] },
    timeoutUntil: { before: member?.timeoutUntil ?? null, after: null },
  });
}

function createGuild(
  on: Transaction,
  { id: guildId, owner_id: ownerId = null, roles, members }: z.output<typeof payloads.createdGuildSchema>,
  state: SessionState,
): Promise<void> {
  const botRoles = members.find(({ user }) => user.id === state.botId)?.roles;
  // Without the bot's roles nobody knows what it may do; the guild is then read from the platform as without a mirror.
  if (!botRoles) return store.setUnavailable(on, guildId);
  return store.storeGuild(on, state, state.epoch, { guildId, ownerId, roles, botRoles });
}

function storeRole(
  on: Transaction,
  { guild_id: guildId, role }: z.output<typeof payloads.storedRoleSchema>,
): Promise<void> {
  return store.storeRole(on, guildId, role.id, role);
}

/** A session that cannot be read is an error when it is stored: without it no event can be. */
function prepareSession(data: unknown): Prepared {
  const parsed = payloads.readySchema.safeParse(data);
  const storeSession = async (on: Transaction, state: SessionState) => {
    if (!parsed.success) throw parsed.error;
    const { session_id: sessionId, resume_gateway_url: resumeUrl, user } = parsed.data;
    const session = { sessionId, sequence: state.sequence, resumeUrl, botId: user.id };
    Object.assign(state, { epoch: await beginSession(on, state, session), botId: user.id });
  };
  return { parts: 0, store: storeSession };
}

/** Returns the number of roles and members in the data of an event. */
function partsOf({ roles = [], members = [] }: { roles?: readonly unknown[]; members?: readonly object[] }): number {
  return roles.length + members.reduce((sum, member) => sum + 1 + partsOf(member), 0);
}

function isDifferent({ roles: { before = [], after }, timeoutUntil }: MemberChange): boolean {
  return (
    before.length !== after.length ||
    after.some((roleId) => !before.includes(roleId)) ||
    timeoutUntil.before?.getTime() !== timeoutUntil.after?.getTime()
  );
}
