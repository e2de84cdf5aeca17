import { setTimeout as wait } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { Deployment } from '../failure/deployment.ts';
import { LONG } from '../measure/bounds.ts';
import { printFigure, round } from '../measure/figures.ts';
import { PATIENCE } from '../patience.ts';
import { testRedisUrl } from '../redis/database.ts';
import { connected } from '../restore/content.ts';
import { DATABASE } from '../restore/installed-system.ts';
import { expectEveryEventOnce, verifyAudit } from '../restore/restored-system.ts';
import { type Cluster, untilAccepting, untilReplicated, urlOf } from './cluster.ts';
import { expectEventsWithoutGaps, expectStoredOnce } from './comparisons.ts';
import type { ClusterNode } from './node.ts';
import { identities, untilListening, untilSwitched, watchAuth } from './processes.ts';
import { Revocations } from './revocations.ts';
import { GUILDS, SteadyWriter } from './steady-writer.ts';

/** The time in which requests must succeed again once a server accepts writes. */
const BACK_MS = 10_000;
const REVOKED_MS = 1_000;
const WAIT = { ...PATIENCE, timeout: 90_000, interval: 20 };
/** So many writes are acknowledged before the first fault: the first requests of a new process are several times slower. */
const WARM_UP_WRITES = 500;
/** The time in which the system runs undisturbed between two faults. */
const PAUSE_MS = 1_000;

export type Fault = 'kill' | 'partition from everybody' | 'partition from the other servers';

/** The processes of which two run. */
const TWICE = ['auth', 'moderation', 'events', 'gateway'];

/** What was measured during one fault, in milliseconds. */
interface Measured {
  fault: Fault;
  /** From the fault until a server accepted writes. */
  accepting: number;
  /** From then until a write of each kind was acknowledged. */
  back: number;
}

/** The whole system on a cluster whose primary fails while clients write. */
export class Proof {
  readonly #cluster: Cluster;
  readonly #deployment: Deployment;
  readonly #writer: SteadyWriter;
  readonly #revocations: Revocations;
  readonly #measured: Measured[] = [];
  /** The servers that have not failed. */
  #available: ClusterNode[];
  #primary: ClusterNode;
  /**
   * For each fault, the time in milliseconds from the response to a revocation until every gateway rejected the key: of
   * one that was sent when the fault began, and of one when changes were received again.
   */
  readonly #rejectedDuring: number[] = [];
  readonly #rejected: number[] = [];

  private constructor(cluster: Cluster, deployment: Deployment) {
    this.#cluster = cluster;
    this.#deployment = deployment;
    this.#writer = new SteadyWriter(deployment.api, deployment.keys);
    this.#revocations = new Revocations(deployment);
    this.#available = [...cluster.nodes];
    this.#primary = cluster.nodes[0] as ClusterNode;
  }

  /** Starts the system, runs all faults one after another, and expects that nothing is lost or applied twice. */
  static async run(name: string, cluster: Cluster, faults: readonly Fault[]): Promise<void> {
    const deployment = new Deployment({
      databaseUrl: (service) => urlOf(cluster, service),
      redisUrl: await testRedisUrl(),
      replicas: 1,
      guilds: GUILDS,
    });
    try {
      await deployment.start();
      await Promise.all(TWICE.map((service) => deployment.startReplica(service)));
      await new Proof(cluster, deployment).#run(name, faults);
    } finally {
      await deployment.stop();
    }
  }

  async #run(name: string, faults: readonly Fault[]): Promise<void> {
    const before = identities(this.#deployment);
    this.#primary = await untilAccepting(this.#cluster.nodes);
    await untilListening(this.#deployment);
    this.#writer.start();
    await vi.waitUntil(() => this.#writer.acknowledged.length >= WARM_UP_WRITES, WAIT);
    for (const fault of faults) {
      await this.#expectToSurvive(fault);
      await this.#expectChangesToArrive();
      await wait(PAUSE_MS);
    }
    await this.#writer.stop();
    expectSame('rejected writes', this.#writer.faults, []);
    expectSame('attempts that a rate limit rejected', this.#writer.limited, 0);
    expectSame('processes', identities(this.#deployment), before);
    await this.#expectNothingLost();
    this.#print(name);
  }

  /** Causes a fault, and expects that the system follows the next primary; then repairs the cluster. */
  async #expectToSurvive(fault: Fault): Promise<void> {
    const failed = this.#primary;
    this.#available = this.#available.filter((node) => node !== failed);
    const key = await this.#revocations.create();
    const begun = performance.now();
    const revoking = this.#revocations
      .revoke(key)
      .then(async (revokedAt) => (await this.#revocations.untilRejected(key)) - revokedAt);
    const causing = this.#cause(fault, failed);
    this.#primary = await untilAccepting(this.#available);
    const accepting = performance.now();
    const back = await vi.waitUntil(() => this.#writer.allKindsAt(accepting), WAIT);
    this.#measured.push({ fault, accepting: accepting - begun, back: back - accepting });
    const times = `a server accepts writes after ${round((accepting - begun) / 1_000)} s`;
    console.log(`${fault}: ${times}, requests succeed ${round((back - accepting) / 1_000)} s later`);
    expectWithin(`${fault}: time until requests succeed`, back - accepting, BACK_MS);
    await causing;
    this.#rejectedDuring.push(await revoking);
    await untilSwitched(this.#deployment, this.#measured.length);
    await this.#cluster.repair(failed);
    await untilReplicated(this.#cluster, this.#primary);
    this.#available.push(failed);
  }

  #cause(fault: Fault, primary: ClusterNode): Promise<void> {
    if (fault === 'kill') return this.#cluster.killPrimary(primary);
    return this.#cluster.partitionPrimary(primary, fault === 'partition from everybody');
  }

  /** Expects that every replica receives changes again, and that revoked keys are rejected within a second. */
  async #expectChangesToArrive(): Promise<void> {
    await untilListening(this.#deployment);
    await this.#revocations.untilProven();
    const watch = await watchAuth(this.#deployment);
    const key = await this.#revocations.create();
    const revokedAt = await this.#revocations.revoke(key);
    const rejectedAt = await this.#revocations.untilRejected(key);
    this.#rejected.push(rejectedAt - revokedAt);
    expectWithin('time until every gateway rejects a key', rejectedAt - revokedAt, REVOKED_MS);
    await vi.waitUntil(() => watch.received(key.id, 2), WAIT);
    watch.close();
  }

  async #expectNothingLost(): Promise<void> {
    const url = this.#primary.url(DATABASE);
    await connected(url, expectEveryEventOnce);
    await expectStoredOnce(url, this.#writer.acknowledged);
    await expectEventsWithoutGaps(url);
    await verifyAudit(this.#deployment);
    expectSame('revoked keys that are valid', await this.#revocations.stillValid(url), []);
  }

  #print(name: string): void {
    const { acknowledged, repeats } = this.#writer;
    const kills = this.#measured.filter(({ fault }) => fault === 'kill');
    const partitions = this.#measured.filter(({ fault }) => fault !== 'kill');
    const lost = `0 of ${acknowledged.length} acknowledged writes lost or applied twice, ${repeats} attempts repeated`;
    printFigure(`${name}, ${kills.length} kills and ${partitions.length} partitions of the primary`, lost);
    for (const [what, some] of Object.entries({ kill: kills, partition: partitions })) {
      printFigure(`${name}, ${what}: until a server accepts writes`, spread(some.map(({ accepting }) => accepting)));
      printFigure(`${name}, ${what}: from then until requests succeed`, spread(some.map(({ back }) => back)));
    }
    printFigure(
      `${name}, key revoked while the primary fails: until all gateways reject it`,
      spread(this.#rejectedDuring),
    );
    printFigure(
      `${name}, ${this.#revocations.count} revoked keys: from the response until all gateways reject one`,
      spread(this.#rejected),
    );
  }
}

/** The median and the maximum of some times. */
function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const seconds = (index: number) => round((sorted[index] ?? 0) / 1_000);
  return `p50 ${seconds(Math.floor((sorted.length - 1) / 2))} s, max ${seconds(sorted.length - 1)} s`;
}

function expectSame(what: string, measured: unknown, expected: unknown): void {
  expect(measured, `${what}, as found`).toEqual(expected);
}

/** Expects a time in milliseconds; `npm run test:failover` checks the bound itself, other runs ten times as much. */
function expectWithin(what: string, measured: number, bound: number): void {
  expect(measured, `${what}, in milliseconds`).toBeLessThanOrEqual(LONG ? bound : 10 * bound);
}
