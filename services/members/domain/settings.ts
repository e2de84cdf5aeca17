import { isDeepStrictEqual } from 'node:util';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { GuildSettings, MirroringGuild } from '#proto/gen/guild/members/v1/settings.ts';
import type { MemberEvents } from '../events.ts';
import * as store from '../store/guild-settings.ts';
import { startRankPoll } from '../store/rank-polls.ts';
import type { SettingsTelemetry } from '../telemetry/settings.ts';

/**
 * Settings of a guild to change; undefined fields keep their values. A nickname template or channel that is null is removed.
 */
export interface SettingsChange {
  syncOnLink: boolean | undefined;
  syncOnJoin: boolean | undefined;
  syncOnRankChange: boolean | undefined;
  nicknameTemplate: string | null | undefined;
  mirrorBansUniverseIds: number[] | undefined;
  mirrorBansExcludeAlts: boolean | undefined;
  mirrorTimeouts: boolean | undefined;
  pushCommands: boolean | undefined;
  inviteChannelId: string | null | undefined;
  oauthJoin: boolean | undefined;
}

export interface SettingsOptions<View extends object> {
  database: Database;
  idempotency: Idempotency;
  events: MemberEvents;
  telemetry: SettingsTelemetry;
  /** Returns the response for settings. It is stored for a client that repeats the write. */
  view: (settings: GuildSettings) => View;
  /** Called after the commit of a change that starts a poll of ranks. */
  wake: () => void;
}

/** Reads and changes the settings of guilds. */
export class Settings<View extends object = object> {
  readonly #options: SettingsOptions<View>;

  constructor(options: SettingsOptions<View>) {
    this.#options = options;
  }

  of(guildId: string): Promise<GuildSettings> {
    return store.findSettings(this.#options.database, guildId);
  }

  /** Returns up to `limit` guilds, after a guild, whose bans are mirrored to the game platform. */
  mirroringGuilds(after: string, limit: number): Promise<MirroringGuild[]> {
    return store.listMirroringGuilds(this.#options.database, after, limit);
  }

  /** Returns up to `limit` guilds, after a guild, whose mutes are mirrored to timeouts. */
  timeoutGuilds(after: string, limit: number): Promise<string[]> {
    return store.listTimeoutGuilds(this.#options.database, after, limit);
  }

  /** Changes settings of a guild. A request that changes nothing is not recorded in the audit. */
  async change(write: IdempotentWrite, change: SettingsChange): Promise<WriteOutcome<View>> {
    const { idempotency, telemetry, view } = this.#options;
    let changed: GuildSettings | undefined;
    const outcome = await idempotency.inTransaction(write, async (transaction) => {
      const before = await store.lockSettings(transaction, write.guildId);
      const after = withChange(before, change);
      if (isDeepStrictEqual(after, before)) return ok(view(before));
      changed = { ...after, version: before.version + 1 };
      await this.#store(transaction, write.guildId, { before, changed });
      return ok(view(changed));
    });
    if (changed) telemetry.changed(write.guildId, changed);
    return outcome;
  }

  async #store(
    transaction: Transaction,
    guildId: string,
    { before, changed }: { before: GuildSettings; changed: GuildSettings },
  ): Promise<void> {
    const { events, view, wake } = this.#options;
    await store.updateSettings(transaction, guildId, changed);
    if (changed.syncOnRankChange && !before.syncOnRankChange) {
      await startRankPoll(transaction, guildId);
      transaction.afterCommit(wake);
    }
    await events.settingsUpdated(transaction, guildId, { data: view(changed), before: view(before) });
  }
}

function withChange(
  before: GuildSettings,
  { nicknameTemplate, inviteChannelId, mirrorBansUniverseIds, ...flags }: SettingsChange,
): GuildSettings {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return {
    ...before,
    ...(Object.fromEntries(given) as Partial<GuildSettings>),
    nicknameTemplate: nicknameTemplate === undefined ? before.nicknameTemplate : (nicknameTemplate ?? undefined),
    inviteChannelId: inviteChannelId === undefined ? before.inviteChannelId : (inviteChannelId ?? undefined),
    mirrorBansUniverseIds: mirrorBansUniverseIds ? [...new Set(mirrorBansUniverseIds)] : before.mirrorBansUniverseIds,
  };
}
