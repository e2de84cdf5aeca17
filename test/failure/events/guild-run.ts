import { setTimeout as wait } from 'node:timers/promises';
import type { Deployment } from '../deployment.ts';
import { followWithCurl, type StreamClient } from '../stream-clients.ts';
import { Writer } from '../writer.ts';
import { compare, PlatformState } from './comparisons.ts';
import { GuildWriter, type Turn } from './guild-writer.ts';
import { erasuresTurn, keysTurn, webhooksTurn } from './key-turns.ts';
import { lineOfEvent, without } from './lines.ts';
import { bindingsTurn, membersTurns } from './member-turns.ts';
import { platformTurn } from './platform-turns.ts';
import { decisionsTurn, flagsTurn, linksTurn } from './player-turns.ts';
import { Poller, readAll } from './poller.ts';
import { commandsTurn, serve, serversTurn, staffTurn } from './server-turns.ts';

/** Keeps the writes below the rate limits of a guild. */
const TURN_MS = 6_000;

/** The changes that need no events service. */
const recordedTurns = (): Turn[] => [
  linksTurn,
  decisionsTurn,
  flagsTurn,
  bindingsTurn,
  membersTurns(),
  serversTurn,
  commandsTurn,
  staffTurn,
  keysTurn,
  platformTurn,
];

/** Writers of one guild that cause all types of events, and readers that follow them. */
export class GuildRun {
  readonly writer: GuildWriter;
  readonly poller: Poller;
  readonly #guild: string;
  readonly #requests: Writer;
  readonly #deployment: Deployment;
  readonly #before: PlatformState;
  readonly #stopped = new AbortController();
  readonly #ended = new AbortController();
  #stream: StreamClient | undefined;
  #writing: Promise<unknown> = Promise.resolve();
  #following: Promise<unknown> = Promise.resolve();

  constructor(guild: string, deployment: Deployment) {
    this.#guild = guild;
    this.#deployment = deployment;
    this.#requests = new Writer(deployment.api, deployment.keys);
    this.writer = new GuildWriter(guild, this.#requests, deployment);
    this.poller = new Poller(this.#requests, guild);
    this.#before = this.#platform();
  }

  /** Requests that were repeated because they got no answer or a failure. */
  get failures(): number {
    return this.#requests.repeats - this.#requests.limited;
  }

  /** Starts to write and to read; a rejected write rejects `running`. */
  start(): this {
    const turns = [...recordedTurns(), webhooksTurn, erasuresTurn];
    this.#writing = Promise.all(turns.map((turn) => this.#repeat(turn)));
    return this.follow();
  }

  /** Makes one turn of all changes that need no events service; resolves once they are acknowledged. */
  async writeOnce(): Promise<void> {
    await Promise.all(recordedTurns().map((turn) => turn(this.writer, 0)));
  }

  /** Starts the game server and the reader. */
  follow(): this {
    const { signal } = this.#ended;
    this.#following = Promise.all([serve(this.writer, signal), this.poller.run(signal)]);
    return this;
  }

  /** Follows the guild's stream of events as well. */
  followStream(): this {
    const key = this.#deployment.keys.get(this.#guild) ?? '';
    // curl receives every type.
    this.#stream = followWithCurl({ api: this.#deployment.api, guild: this.#guild, key, type: '' });
    return this;
  }

  /** Rejects if a request was rejected; resolves once all writers and readers have stopped. */
  get running(): Promise<unknown> {
    return Promise.all([this.#writing, this.#following]);
  }

  /** No new writes begin; resolves once those that have begun are acknowledged. */
  async stopWriting(): Promise<void> {
    this.#stopped.abort();
    await this.#writing;
  }

  /** Ends the game server and the readers. */
  async end(): Promise<void> {
    this.#stopped.abort();
    this.#ended.abort();
    this.#stream?.close();
    await this.running;
  }

  /** What is wrong now: changes without their event, events without their change, and events that a reader missed. */
  async faults(databaseUrl: string): Promise<string[]> {
    const events = await readAll(this.#requests, this.#guild);
    const { told, stored } = await compare(events, {
      url: databaseUrl,
      guild: this.#guild,
      before: this.#before,
      now: this.#platform(),
      confirmed: this.writer.confirmed,
    });
    const lines = events.map(lineOfEvent);
    const seqs = events.map(({ seq }) => seq).join(' ');
    const read = this.poller.events.map(({ seq }) => seq).join(' ');
    const streamed = this.#stream?.seqs.join(' ');
    return [
      ...without(told, stored).map((line) => `event without its change: ${line}`),
      ...without(stored, told).map((line) => `change without its event: ${line}`),
      ...without(this.writer.confirmed, lines).map((line) => `acknowledged, but without an event: ${line}`),
      ...events.flatMap(({ seq }, index) => (seq === index + 1 ? [] : [`seq ${seq} is event ${index + 1} of the log`])),
      ...this.poller.faults,
      ...(read === seqs ? [] : [`the poller has read ${read}`]),
      ...(streamed === undefined || streamed === seqs ? [] : [`the stream has sent ${streamed}`]),
    ].map((fault) => `${this.#guild}: ${fault}`);
  }

  async #repeat(turn: Turn): Promise<void> {
    for (let count = 0; !this.#stopped.signal.aborted; count++) {
      await turn(this.writer, count);
      await wait(TURN_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }

  #platform(): PlatformState {
    const guild = this.#deployment.simulators.world.guilds.get(this.#guild);
    if (!guild) throw new Error('the guild does not exist on the chat platform');
    return new PlatformState(guild);
  }
}
