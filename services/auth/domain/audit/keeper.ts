import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '#kit/clock.ts';
import type { LoopLease } from '#kit/leases/loop-leases.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import * as store from '../../store/audit.ts';
import type { AuthTelemetry } from '../../telemetry.ts';
import { currentKeyId, signCheckpoint } from './checkpoints.ts';
import { type ChainBreak, readNewestCheckpoint, verifyPart } from './verify.ts';

const INTERVAL_MS = 3_600_000;
/** The time from the beginning of one pass over all audit chains to the next; a little less than 24 runs take. */
const PASS_INTERVAL_MS = 23.5 * 3_600_000;
/**
 * The maximum delay of the first run after a start. The delay is short because a start may follow a rotation of the
 * signing secret, and because processes may be replaced more often than once an hour.
 */
const MAX_FIRST_DELAY_MS = 300_000;
/** How soon a replica looks again that is not the owner, in milliseconds. */
const NOT_OWNER_MS = 60_000;
/** The number of audit chains that one statement reads. */
const PAGE_SIZE = 500;
/** The maximum number of audit entries that one statement deletes. */
const MAX_PRUNED = 5_000;
/** The maximum number of chains that may fail in a run; more failures mean that the database does not work. */
const MAX_FAILURES = 5;
/** The maximum number of broken chains that are verified again in every run. */
const MAX_BROKEN = 100;

export interface AuditKeeperOptions {
  database: Database;
  clock: Clock;
  ring: KeyRing;
  telemetry: AuthTelemetry;
  /** The age, in seconds, from which audit entries are deleted; 0 means never. */
  retentionSeconds: number;
  /** Held by the replica that signs and prunes. */
  lease: LoopLease;
}

/**
 * Signs, once an hour, a checkpoint of every audit chain that has new entries. Only the entries after the newest
 * checkpoint are verified for it. In its first run and then once a day, it verifies every chain from its first entry,
 * and deletes entries that are older than the retention time. What is signed or deleted was verified before, so that
 * tampering is not covered up. A broken chain is verified and reported in every run, and neither signed nor pruned.
 */
export class AuditKeeper implements Part {
  readonly name = 'audit keeper';
  readonly #options: AuditKeeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;
  /** The pass over all chains that has begun and not ended: its time, and the last guild that it has verified. */
  #pass: { beganAt: number; after: string | undefined } | undefined;
  #lastPassAt = Number.NEGATIVE_INFINITY;
  #signedAt = 0;
  /** The guilds whose chains were broken when they were last verified. */
  readonly #broken = new Set<string>();

  constructor(options: AuditKeeperOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    // The first run starts at a random time, so that replicas do not verify the same audit chains concurrently.
    this.#schedule(MAX_FIRST_DELAY_MS * Math.random());
  }

  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      if (!this.#options.lease.isHeld) return this.#schedule(NOT_OWNER_MS);
      this.#running = this.run().finally(() => this.#schedule(INTERVAL_MS));
    }, delayMs).unref();
  }

  /**
   * Signs all audit chains that have grown; verifies and prunes all chains if the last time was a day ago. If this
   * fails, the failure is logged, and the next run tries again; a pass over all chains continues where it ended.
   */
  async run(): Promise<void> {
    const now = this.#options.clock.now();
    try {
      if (this.#pass || now - this.#lastPassAt >= PASS_INTERVAL_MS) await this.#verifyAll(now);
      else await this.#signGrown();
    } catch (error) {
      this.#options.telemetry.auditRunFailed(error);
    }
  }

  /** Verifies, signs and prunes every chain. A pass that takes longer than an hour also signs chains that have grown. */
  async #verifyAll(now: number): Promise<void> {
    const { database, clock } = this.#options;
    if (!this.#pass) this.#signedAt = now;
    const pass = (this.#pass ??= { beganAt: now, after: undefined });
    const page = (after: string | undefined) => store.selectHeads(database, after, PAGE_SIZE);
    const hasEnded = await this.#forEachHead(pass.after, page, async (head) => {
      if (clock.now() - this.#signedAt >= INTERVAL_MS) await this.#signGrown();
      pass.after = head.guildId;
      if (!(await this.#isIntact(head.guildId, undefined))) return;
      await this.#signAll(head);
      if (this.#options.retentionSeconds > 0) await this.#prune(head.guildId);
    });
    if (!hasEnded) return;
    this.#pass = undefined;
    this.#lastPassAt = pass.beganAt;
  }

  async #signGrown(): Promise<void> {
    const { database, clock, ring } = this.#options;
    this.#signedAt = clock.now();
    for (const guildId of this.#broken) if (this.#mayContinue) await this.#isIntact(guildId, undefined);
    const page = (after: string | undefined) =>
      store.selectUnsignedHeads(database, currentKeyId(ring), after, PAGE_SIZE);
    await this.#forEachHead(undefined, page, (head) => this.#signIfGrown(head));
  }

  /**
   * Runs `work` for each audit chain after a guild. If it fails for a chain, the failure is logged, and the next chain
   * follows. Returns false if this ended early because the process stops or has lost the lease.
   */
  async #forEachHead(
    afterGuild: string | undefined,
    page: (after: string | undefined) => Promise<store.Head[]>,
    work: (head: store.Head) => Promise<void>,
  ): Promise<boolean> {
    let after = afterGuild;
    let failures = 0;
    for (let size = PAGE_SIZE; size === PAGE_SIZE && this.#mayContinue; ) {
      const heads = await page(after);
      size = heads.length;
      for (const head of heads) {
        if (!this.#mayContinue) return false;
        try {
          await work(head);
        } catch (error) {
          if (++failures > MAX_FAILURES) throw error;
          this.#options.telemetry.auditRunFailed(error);
        }
      }
      after = heads.at(-1)?.guildId;
    }
    return this.#mayContinue;
  }

  get #mayContinue(): boolean {
    return !this.#isStopped && this.#options.lease.isHeld;
  }

  /**
   * Verifies what was appended to a chain since its newest checkpoint, and signs it. After a rotation of the signing key
   * earlier checkpoints are signed again, so the whole chain is verified.
   */
  async #signIfGrown(head: store.Head): Promise<void> {
    if (this.#broken.has(head.guildId)) return;
    const { database, ring } = this.#options;
    const { position, keyIds, firstBreak } = await readNewestCheckpoint(database, ring, head.guildId);
    if (firstBreak) return this.#reportBroken(head.guildId, firstBreak);
    const isSigned = keyIds.includes(currentKeyId(ring));
    if (!(await this.#isIntact(head.guildId, isSigned ? position : undefined))) return;
    await (isSigned ? this.#checkpoint(head) : this.#signAll(head));
  }

  /** Signs the end of a verified chain, and its earlier checkpoints that the current key has not signed. */
  async #signAll(head: store.Head): Promise<void> {
    const { database, ring } = this.#options;
    const earlier = await store.selectCheckpointsWithout(database, head.guildId, currentKeyId(ring));
    for (const checkpoint of earlier) await this.#checkpoint(checkpoint);
    await this.#checkpoint(head);
  }

  /** Deletes the old entries of a verified chain. */
  async #prune(guildId: string): Promise<void> {
    const { database, clock, retentionSeconds, telemetry } = this.#options;
    const before = new Date(clock.now() - retentionSeconds * 1000);
    while (this.#mayContinue) {
      const last = await store.selectPrunable(database, guildId, before, MAX_PRUNED);
      if (!last) return;
      await this.#checkpoint({ guildId, ...last });
      const pruned = await store.pruneTo(database, guildId, last.sequence);
      if (pruned === 0) return;
      telemetry.auditPruned(guildId, last.sequence, pruned);
    }
  }

  /**
   * Verifies an audit chain after a position, or from its first entry. Waits between the parts of a long chain as long as
   * a part took, because this process also verifies API keys.
   */
  async #isIntact(guildId: string, after: store.ChainPosition | undefined): Promise<boolean> {
    const { database, ring } = this.#options;
    let from = after;
    do {
      const began = performance.now();
      const { firstBreak, next } = await verifyPart(database, ring, guildId, from);
      if (firstBreak) {
        this.#reportBroken(guildId, firstBreak);
        return false;
      }
      from = next;
      if (from) await delay(performance.now() - began);
    } while (from && !this.#isStopped);
    if (from) return false;
    this.#broken.delete(guildId);
    return true;
  }

  #reportBroken(guildId: string, { sequence, reason }: ChainBreak): void {
    if (this.#broken.size < MAX_BROKEN) this.#broken.add(guildId);
    this.#options.telemetry.auditBroken(guildId, sequence, reason);
  }

  /** Signs an audit checkpoint. The log line of the checkpoint also records the chain value outside of the database. */
  async #checkpoint({ guildId, sequence, chain }: store.Head): Promise<void> {
    const { database, clock, ring, telemetry } = this.#options;
    const head = { guildId, sequence, chain };
    if (await store.insertCheckpoint(database, signCheckpoint(ring, head, new Date(clock.now()))))
      telemetry.auditSigned(head.guildId, head.sequence, head.chain.toString('hex'));
  }
}
