import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '#kit/clock.ts';
import type { TermLease } from '#kit/leases/loop-leases.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import * as store from '../../store/audit.ts';
import type { AuthTelemetry } from '../../telemetry.ts';
import { currentKeyId, signCheckpoint } from './checkpoints.ts';
import { type ChainBreak, readNewestCheckpoint, verifyPart } from './verify.ts';

const INTERVAL_MS = 3_600_000;
/**
 * The time from the beginning of one pass over all audit chains to the next. Less than a day, because each run starts an
 * hour after the end of the one before.
 */
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
/** The maximum number of broken chains that are verified again in a run. */
const MAX_BROKEN = 100;

export interface AuditKeeperOptions {
  database: Database;
  clock: Clock;
  ring: KeyRing;
  telemetry: AuthTelemetry;
  /** The age, in seconds, from which audit entries are deleted; 0 means never. */
  retentionSeconds: number;
  /** Held by the replica that signs and prunes. */
  lease: TermLease;
}

/**
 * Signs, once an hour, a checkpoint of every audit chain that has new entries. Only the entries after the newest
 * checkpoint are verified for it. In its first run since it has the lease, and then once a day, it verifies every chain
 * from its first entry, and deletes entries that are older than the retention time. What is signed or deleted was verified
 * before, so that tampering is not covered up. A broken chain is verified and reported in every run (of more than
 * MAX_BROKEN in turn), and neither signed nor pruned.
 */
export class AuditKeeper implements Part {
  readonly name = 'audit keeper';
  readonly #options: AuditKeeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;
  /** The term of the lease in which the following was found; what another owner has found since is unknown. */
  #term: number | undefined;
  /** The pass over all chains that has begun and not ended: its time, and the last guild that it has verified. */
  #pass: { beganAt: number; after: string | undefined } | undefined;
  #lastPassAt = Number.NEGATIVE_INFINITY;
  #signedAt = 0;
  /** The guilds whose chains were broken when they were last verified, ordered by that time. Each is remembered. */
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
    this.#followTerm();
    try {
      if (this.#pass || now - this.#lastPassAt >= PASS_INTERVAL_MS) await this.#verifyAll(now);
      else await this.#signGrown();
    } catch (error) {
      this.#options.telemetry.auditRunFailed(error);
    }
  }

  /** Forgets what was found before the lease was lost, so that this run begins a pass over all chains. */
  #followTerm(): void {
    const { term } = this.#options.lease;
    if (term === this.#term) return;
    this.#term = term;
    this.#pass = undefined;
    this.#lastPassAt = Number.NEGATIVE_INFINITY;
    this.#broken.clear();
  }

  /** Verifies, signs and prunes every chain. A pass that takes longer than an hour also signs chains that have grown. */
  async #verifyAll(now: number): Promise<void> {
    const { database } = this.#options;
    if (!this.#pass) this.#signedAt = now;
    const pass = (this.#pass ??= { beganAt: now, after: undefined });
    const page = (after: string | undefined) => store.selectHeads(database, after, PAGE_SIZE);
    const hasEnded = await this.#forEach(pagesOf(page, pass.after), async (head) => {
      await this.#signGrownInPass();
      pass.after = head.guildId;
      if (!(await this.#isIntact(head.guildId, undefined))) return;
      await this.#signAll(head);
      if (this.#options.retentionSeconds > 0) await this.#prune(head.guildId);
    });
    if (!hasEnded) return;
    this.#pass = undefined;
    this.#lastPassAt = pass.beganAt;
  }

  /** Signs chains that have grown if the last time was an hour ago. Never throws, because the pass is to continue. */
  async #signGrownInPass(): Promise<void> {
    const { clock, telemetry } = this.#options;
    if (clock.now() - this.#signedAt < INTERVAL_MS) return;
    await this.#signGrown().catch((error: unknown) => telemetry.auditRunFailed(error));
  }

  async #signGrown(): Promise<void> {
    const { database, clock, ring } = this.#options;
    this.#signedAt = clock.now();
    const broken = [...this.#broken].slice(0, MAX_BROKEN);
    await this.#forEach(broken, (guildId) => this.#isIntact(guildId, undefined));
    const page = (after: string | undefined) =>
      store.selectUnsignedHeads(database, currentKeyId(ring), after, PAGE_SIZE);
    await this.#forEach(pagesOf(page), (head) => this.#signIfGrown(head));
  }

  /**
   * Runs `work` for each audit chain. If it fails for a chain, the failure is logged, and the next chain follows. Returns
   * false if this ended early because the process stops or has lost the lease.
   */
  async #forEach<Chain>(
    chains: Iterable<Chain> | AsyncIterable<Chain>,
    work: (chain: Chain) => Promise<unknown>,
  ): Promise<boolean> {
    let failures = 0;
    for await (const chain of chains) {
      if (!this.#mayContinue) return false;
      try {
        await work(chain);
      } catch (error) {
        if (++failures > MAX_FAILURES) throw error;
        this.#options.telemetry.auditRunFailed(error);
      }
    }
    return this.#mayContinue;
  }

  get #mayContinue(): boolean {
    const { isHeld, term } = this.#options.lease;
    return !this.#isStopped && isHeld && term === this.#term;
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
    // Moves the guild to the end, so that of more than MAX_BROKEN chains each is verified in its turn.
    this.#broken.delete(guildId);
    this.#broken.add(guildId);
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

/** Reads the ends of audit chains page by page, after a guild or from the first. */
async function* pagesOf(
  page: (after: string | undefined) => Promise<store.Head[]>,
  afterGuild?: string,
): AsyncGenerator<store.Head> {
  let after = afterGuild;
  for (let size = PAGE_SIZE; size === PAGE_SIZE; ) {
    const heads = await page(after);
    yield* heads;
    size = heads.length;
    after = heads.at(-1)?.guildId;
  }
}
