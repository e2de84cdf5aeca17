import type { z } from 'zod';
import type { Transaction } from '#kit/postgres/pool.ts';
import type { ChatMember } from '#platforms/chat.ts';
import * as payloads from '#platforms/discord/gateway/payloads.ts';
import type { GatewayDispatch } from '#platforms/discord/gateway/shard.ts';
import type { MemberChange, OnMemberChange } from '../domain/member-changes.ts';
import { beginSession, type ShardName } from '../store/chat-shards.ts';
import * as store from '../store/mirror-events.ts';
import type { MirrorTelemetry } from '../telemetry/mirror.ts';

/** The session to which events belong, as the mirror knows it. */
export interface SessionState extends ShardName {
  epoch: string;
  botId: string;
}

export interface MirrorWriterOptions {
  /** Called for each change of a member, in the transaction that stores it. */
  onChange: readonly OnMemberChange[];
  telemetry: MirrorTelemetry;
}

/** A handler of one type of event. It may change the state of the session. */
type Handler<Data> = (on: Transaction, data: Data, state: SessionState) => Promise<void>;

/** Stores the events of the chat platform's websocket in the mirror. */
export class MirrorWriter {
  readonly #options: MirrorWriterOptions;
  readonly #handlers: ReadonlyMap<string, (...call: Parameters<Handler<unknown>>) => Promise<void>>;

  constructor(options: MirrorWriterOptions) {
    this.#options = options;
    this.#handlers = new Map([
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
        this.#storeMember('joined', on, payloads.toMember(data), state),
      ),
      this.#on('GUILD_MEMBER_UPDATE', payloads.changedMemberSchema, (on, data, state) =>
        this.#storeMember('changed', on, payloads.toMember(data), state),
      ),
      this.#on('GUILD_MEMBER_REMOVE', payloads.removedMemberSchema, (on, data, state) =>
        this.#removeMember(on, { guildId: data.guild_id, chatId: data.user.id }, state),
      ),
    ]);
  }

  /** Stores events in their order, and what follows from them. Returns the state of the session after them. */
  async write(
    transaction: Transaction,
    dispatches: readonly GatewayDispatch[],
    shard: ShardName & { epoch: string | null; botId: string | null },
  ): Promise<SessionState> {
    const state: SessionState = { ...shard, epoch: shard.epoch ?? '', botId: shard.botId ?? '' };
    for (const dispatch of dispatches) {
      if (dispatch.type === 'READY') Object.assign(state, await readSession(transaction, dispatch, state));
      else await this.#handlers.get(dispatch.type)?.(transaction, dispatch.data, state);
    }
    return state;
  }

  #on<Data>(type: string, schema: z.ZodType<Data>, handler: Handler<Data>) {
    const handle = async (on: Transaction, data: unknown, state: SessionState) => {
      const parsed = schema.safeParse(data);
      if (parsed.success) return handler(on, parsed.data, state);
      // A guild about which an event cannot be read is not current until the platform sends it again.
      const guildId = payloads.guildOf(data);
      this.#options.telemetry.unreadable(type, parsed.error);
      if (guildId !== undefined) await store.setUnavailable(on, guildId);
    };
    return [type, handle] as const;
  }

  async #storeMember(
    kind: 'joined' | 'changed',
    on: Transaction,
    { guildId, member }: { guildId: string; member: ChatMember },
    { botId }: SessionState,
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
    await this.#report(on, change);
  }

  async #removeMember(
    on: Transaction,
    { guildId, chatId }: { guildId: string; chatId: string },
    { botId }: SessionState,
  ): Promise<void> {
    if (chatId === botId) return;
    const { member } = await store.findBefore(on, { guildId, chatId });
    if (member) await store.deleteMember(on, { guildId, chatId });
    const change: MemberChange = {
      guildId,
      chatId,
      kind: 'left',
      roles: { before: member?.roles, after: [] },
      timeoutUntil: { before: member?.timeoutUntil ?? null, after: null },
    };
    await this.#report(on, change);
  }

  async #report(on: Transaction, change: MemberChange): Promise<void> {
    for (const handler of this.#options.onChange) await handler(on, change);
  }
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

async function readSession(on: Transaction, { sequence, data }: GatewayDispatch, shard: ShardName) {
  const { session_id: sessionId, resume_gateway_url: resumeUrl, user } = payloads.readySchema.parse(data);
  const epoch = await beginSession(on, shard, { sessionId, sequence, resumeUrl, botId: user.id });
  return { epoch, botId: user.id };
}

function isDifferent({ roles: { before = [], after }, timeoutUntil }: MemberChange): boolean {
  return (
    before.length !== after.length ||
    after.some((roleId) => !before.includes(roleId)) ||
    timeoutUntil.before?.getTime() !== timeoutUntil.after?.getTime()
  );
}
