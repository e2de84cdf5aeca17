import type { Clock } from '#kit/clock.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import * as store from '../../store/audit.ts';
import type { AuthEvents } from '../../telemetry.ts';
import { currentKeyId, signCheckpoint } from './checkpoints.ts';
import { verifyPart } from './verify.ts';

const EVERY_MS = 3_600_000;
/** Soon after a start: it may follow a rotation of the secret, and processes may be replaced more often than hourly. */
const FIRST_MS = 300_000;
/** Chains of a statement. */
const PAGE = 500;
/** Entries that are pruned of a guild at once. */
const MAX_PRUNED = 5_000;

export interface AuditKeeperOptions {
  database: Database;
  clock: Clock;
  ring: KeyRing;
  events: AuthEvents;
  /** Older entries are pruned; 0 keeps all. */
  retentionSeconds: number;
}

/**
 * Once an hour signs a checkpoint of every chain that went on, and deletes the entries that are older than they are
 * kept. A chain is recomputed before anything of it is signed or deleted, so that tampering is not covered up.
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
    // At random, so that replicas do not recompute the same chains at once.
    this.#schedule(FIRST_MS * Math.random());
  }

  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.run().finally(() => this.#schedule(EVERY_MS));
    }, delayMs).unref();
  }

  /** Signs and prunes what is due. Failures are logged: the next run tries again. */
  async run(): Promise<void> {
    try {
      const keyId = currentKeyId(this.#options.ring);
      const { database } = this.#options;
      await this.#each(
        (after) => store.selectUnsignedHeads(database, keyId, after, PAGE),
        (head) => this.#sign(head),
      );
      if (this.#options.retentionSeconds === 0) return;
      await this.#each(
        (after) => store.selectHeads(database, after, PAGE),
        (head) => this.#prune(head.guildId),
      );
    } catch (error) {
      this.#options.events.auditNotKept(error);
    }
  }

  async #each(page: (after: string | undefined) => Promise<store.Head[]>, work: (head: store.Head) => Promise<void>) {
    let after: string | undefined;
    for (let size = PAGE; size === PAGE && !this.#isStopped; ) {
      const heads = await page(after);
      size = heads.length;
      for (const head of heads) if (!this.#isStopped) await work(head);
      after = heads.at(-1)?.guildId;
    }
  }

  async #sign(head: store.Head): Promise<void> {
    if (!(await this.#isSound(head.guildId))) return;
    // After a rotation the earlier ones need a signature under the new key too.
    const keyId = currentKeyId(this.#options.ring);
    const checkpoints = await store.selectCheckpoints(this.#options.database, head.guildId);
    const signed = new Set(checkpoints.filter((each) => each.keyId === keyId).map(({ sequence }) => sequence));
    for (const earlier of checkpoints) if (!signed.has(earlier.sequence)) await this.#checkpoint(earlier);
    await this.#checkpoint(head);
  }

  async #prune(guildId: string): Promise<void> {
    const { database, clock, retentionSeconds, events } = this.#options;
    const before = new Date(clock.now() - retentionSeconds * 1000);
    const last = await store.selectPrunable(database, guildId, before, MAX_PRUNED);
    if (!last || !(await this.#isSound(guildId))) return;
    await this.#checkpoint({ guildId, ...last });
    const pruned = await store.pruneTo(database, guildId, last.sequence);
    if (pruned > 0) events.auditPruned(guildId, last.sequence, pruned);
  }

  async #isSound(guildId: string): Promise<boolean> {
    const { database, ring, events } = this.#options;
    let from: { sequence: number; chain: Buffer } | undefined;
    do {
      const { firstBreak, next } = await verifyPart(database, ring, guildId, from);
      if (firstBreak) {
        events.auditBroken(guildId, firstBreak.sequence, firstBreak.reason);
        return false;
      }
      from = next;
    } while (from);
    return true;
  }

  /** Whoever collects the logs has the chain's value outside of the database. */
  async #checkpoint({ guildId, sequence, chain }: store.Head): Promise<void> {
    const { database, clock, ring, events } = this.#options;
    const head = { guildId, sequence, chain };
    if (await store.insertCheckpoint(database, signCheckpoint(ring, head, new Date(clock.now()))))
      events.auditSigned(head.guildId, head.sequence, head.chain.toString('hex'));
  }
}
