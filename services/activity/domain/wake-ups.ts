import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '#kit/clock.ts';
import { requestContext, withPurpose } from '#kit/context.ts';
import { newRequestId } from '#kit/http/request-id.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { GameMessages } from '#platforms/game-messages.ts';
import { wakeUpTopic } from '#proto/rest/activity/wake-ups.ts';
import { lockGuilds } from '../store/guilds.ts';
import * as store from '../store/wake-ups.ts';
import type { WakeUpTelemetry } from '../telemetry.ts';
import type { Recipients } from './command-request.ts';

/** The maximum number of guilds whose servers are being woken by this process; further wake-ups are dropped. */
const MAX_GUILDS = 1_000;
/** A universe that must be left alone for longer than this has been rejected, and nothing waits for it. */
const MAX_WAIT_MS = 2 * store.MIN_GAP_MS;

export interface WakeUpsOptions {
  database: Database;
  clock: Clock;
  messages: GameMessages;
  /** Returns whether a guild wants its servers to be woken. */
  isWanted: (guildId: string) => Promise<boolean>;
  telemetry: WakeUpTelemetry;
}

/**
 * Wakes game servers through the game platform's messages, so that they fetch new commands now. A message is only a
 * hint: whatever happens to it, a server receives its commands with its next poll or heartbeat. Therefore nothing is
 * retried. Messages to the same universe are combined, over all processes.
 */
export class WakeUps implements Part {
  readonly name = 'wake-ups';
  readonly #options: WakeUpsOptions;
  /** The recipients of commands that were sent since the process last looked, by guild. */
  readonly #requested = new Map<string, Recipients[]>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: WakeUpsOptions) {
    this.#options = options;
  }

  /** Wakes the recipients of a command of a guild that was committed, if the guild wants that. Returns immediately. */
  request(guildId: string, recipients: Recipients): void {
    if (this.#stopping.signal.aborted) return;
    const requested = this.#requested.get(guildId);
    if (requested) {
      // More than a message can name are woken all together.
      if (requested.length <= store.MAX_NAMED) requested.push(recipients);
      return;
    }
    const isRunning = this.#running.has(guildId);
    if (!isRunning && this.#running.size >= MAX_GUILDS) return this.#options.telemetry.counted('dropped');
    this.#requested.set(guildId, [recipients]);
    if (!isRunning) this.#start(guildId);
  }

  async drain(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running.values());
  }

  #start(guildId: string): void {
    const run = this.#run(guildId).finally(() => {
      this.#running.delete(guildId);
      // A command may have been sent after the last look.
      if (this.#requested.has(guildId) && !this.#stopping.signal.aborted) this.#start(guildId);
    });
    this.#running.set(guildId, run);
  }

  async #run(guildId: string): Promise<void> {
    const context = { requestId: newRequestId(), route: this.name, guildId };
    try {
      await requestContext.run(context, () => withPurpose('background', () => this.#wakeAll(guildId)));
    } catch (error) {
      this.#requested.delete(guildId);
      if (!this.#stopping.signal.aborted) this.#options.telemetry.failed(guildId, error);
    }
  }

  /** Sends messages until no request of the guild is left, neither of this process nor of others. */
  async #wakeAll(guildId: string): Promise<void> {
    for (;;) {
      if (!(await this.#store(guildId))) return;
      const wakeUps = await store.takeWakeUps(this.#options.database, guildId);
      const due = wakeUps.filter(({ waitMs }) => waitMs === null);
      await Promise.all(due.map((wakeUp) => this.#publish(guildId, wakeUp)));
      if (this.#requested.has(guildId)) continue;
      const waits = wakeUps.flatMap(({ waitMs }) => (waitMs === null || waitMs > MAX_WAIT_MS ? [] : [waitMs]));
      if (waits.length === 0) return;
      await sleep(Math.min(...waits), undefined, { signal: this.#stopping.signal });
    }
  }

  /**
   * Stores this process's requests, where they are combined with those of other processes. Returns false if the guild
   * does not want its servers to be woken.
   */
  async #store(guildId: string): Promise<boolean> {
    const requested = this.#requested.get(guildId);
    if (!requested) return true;
    this.#requested.delete(guildId);
    const { database, clock, isWanted } = this.#options;
    if (!(await isWanted(guildId))) return false;
    const request = { guildId, recipients: namesOf(requested), now: new Date(clock.now()) };
    await database.transaction(async (transaction) => {
      await lockGuilds(transaction, [guildId]);
      await store.requestWakeUps(transaction, request);
    });
    return true;
  }

  async #publish(guildId: string, { universeId, recipients }: store.WakeUp): Promise<void> {
    const { database, messages, telemetry } = this.#options;
    try {
      const outcome = await messages.publish(universeId, wakeUpTopic(guildId), messageOf(recipients));
      telemetry.counted(outcome);
      if (outcome === 'published') return;
      telemetry.rejected(guildId, universeId);
      await store.pauseWakeUps(database, guildId, universeId);
    } catch (error) {
      telemetry.failed(guildId, error);
    }
  }
}

/** Returns the names of the recipients as they are stored; none if a message cannot name them, so that all are woken. */
function namesOf(requested: readonly Recipients[]): string[] {
  const names = requested.map((recipients) => {
    if ('serverId' in recipients) return `server:${recipients.serverId}`;
    return 'placeId' in recipients ? `place:${recipients.placeId}` : undefined;
  });
  const named = [...new Set(names)].filter((name) => name !== undefined);
  return names.includes(undefined) || named.length > store.MAX_NAMED ? [] : named;
}

/** Returns the message for these recipients: an empty object, or the servers and places that have new commands. */
function messageOf(recipients: store.Named): string {
  const after = (prefix: string) =>
    recipients.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  const servers = after('server:');
  const places = after('place:').map(Number);
  return JSON.stringify({ ...(servers.length > 0 && { servers }), ...(places.length > 0 && { places }) });
}
