import type { Clock } from '#kit/clock.ts';
import type { LoopLease } from '#kit/leases/loop-leases.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import * as store from '../../store/audit.ts';
import type { AuthTelemetry } from '../../telemetry.ts';
import { currentKeyId, signCheckpoint } from './checkpoints.ts';
import { verifyPart } from './verify.ts';

const INTERVAL_MS = 3_600_000;
/**
 * The maximum delay of the first run after a start. The delay is short because a start may follow a rotation of the
 * signing secret, and because processes may be replaced more often than once an hour.
 */
const MAX_FIRST_DELAY_MS = 300_000;
/** How soon a replica looks again that is not the owner, in milliseconds. */
const NOT_OWNER_MS = 60_000;
/** The number of audit chains that one statement reads. */
const PAGE_SIZE = 500;
/** The maximum number of audit entries of a guild that one run deletes. */
const MAX_PRUNED = 5_000;

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
 * Signs, once an hour, a checkpoint of every audit chain that has new entries, and deletes entries that are older than
 * the retention time. A chain is verified before it is signed or pruned, so that tampering is not covered up.
 */
export class AuditKeeper implements Part {
  readonly name = 'audit keeper';
  readonly #options: AuditKeeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

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
   * Signs and prunes all audit chains that are due. If this fails, the failure is logged, and the next run tries again.
   */
  async run(): Promise<void> {
    try {
      const keyId = currentKeyId(this.#options.ring);
      const { database } = this.#options;
      await this.#forEachHead(
        (after) => store.selectUnsignedHeads(database, keyId, after, PAGE_SIZE),
        (head) => this.#sign(head),
      );
      if (this.#options.retentionSeconds === 0) return;
      await this.#forEachHead(
        (after) => store.selectHeads(database, after, PAGE_SIZE),
        (head) => this.#prune(head.guildId),
      );
    } catch (error) {
      this.#options.telemetry.auditRunFailed(error);
    }
  }

  async #forEachHead(
    page: (after: string | undefined) => Promise<store.Head[]>,
    work: (head: store.Head) => Promise<void>,
  ) {
    let after: string | undefined;
    for (let size = PAGE_SIZE; size === PAGE_SIZE && !this.#isStopped; ) {
      const heads = await page(after);
      size = heads.length;
      for (const head of heads) if (!this.#isStopped) await work(head);
      after = heads.at(-1)?.guildId;
    }
  }

  async #sign(head: store.Head): Promise<void> {
    if (!(await this.#isIntact(head.guildId))) return;
    // After a rotation of the signing key, earlier checkpoints need a signature under the new key too.
    const keyId = currentKeyId(this.#options.ring);
    const checkpoints = await store.selectCheckpoints(this.#options.database, head.guildId);
    const signed = new Set(checkpoints.filter((each) => each.keyId === keyId).map(({ sequence }) => sequence));
    for (const earlier of checkpoints) if (!signed.has(earlier.sequence)) await this.#checkpoint(earlier);
    await this.#checkpoint(head);
  }

  async #prune(guildId: string): Promise<void> {
    const { database, clock, retentionSeconds, telemetry } = this.#options;
    const before = new Date(clock.now() - retentionSeconds * 1000);
    const last = await store.selectPrunable(database, guildId, before, MAX_PRUNED);
    if (!last || !(await this.#isIntact(guildId))) return;
    await this.#checkpoint({ guildId, ...last });
    const pruned = await store.pruneTo(database, guildId, last.sequence);
    if (pruned > 0) telemetry.auditPruned(guildId, last.sequence, pruned);
  }

  async #isIntact(guildId: string): Promise<boolean> {
    const { database, ring, telemetry } = this.#options;
    let from: store.ChainPosition | undefined;
    do {
      const { firstBreak, next } = await verifyPart(database, ring, guildId, from);
      if (firstBreak) {
        telemetry.auditBroken(guildId, firstBreak.sequence, firstBreak.reason);
        return false;
      }
      from = next;
    } while (from);
    return true;
  }

  /** Signs an audit checkpoint. The log line of the checkpoint also records the chain value outside of the database. */
  async #checkpoint({ guildId, sequence, chain }: store.Head): Promise<void> {
    const { database, clock, ring, telemetry } = this.#options;
    const head = { guildId, sequence, chain };
    if (await store.insertCheckpoint(database, signCheckpoint(ring, head, new Date(clock.now()))))
      telemetry.auditSigned(head.guildId, head.sequence, head.chain.toString('hex'));
  }
}
