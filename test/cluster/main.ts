// `npm run test:cluster`: the chart in a real cluster, from install to uninstall. KUBECONFIG names any cluster (with
// IMAGE_REPOSITORY, IMAGE_TAG and IMAGE_NEXT_TAG, which it can pull); otherwise the lab is started: LAB_BIN, LAB_DIR, LAB_STATE.
// ALLOW_MISSING=true: a missing Prometheus, second version of Helm or PostgreSQL for the restore drill is no fault.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DEPLOYABLES } from '#local/processes.ts';
import { helms, runHelm } from '#test/chart/helm.ts';
import { CHART } from '../../deploy/chart-files.ts';
import { prometheusProgram } from '../prometheus/prometheus.ts';
import { drillOfAnAlert } from './alerts.ts';
import { callEveryService } from './calls.ts';
import { drainNode } from './drain.ts';
import { Namespace } from './kubectl.ts';
import { type Images, openCluster, seconds } from './lab.ts';
import { Load, type LoadResult } from './load.ts';
import { notChecked } from './not-checked.ts';
import { tryAllPaths } from './paths.ts';
import { restoreDrill } from './restore.ts';
import { checkSchemas } from './schemas.ts';
import { HOP_COUNT, missingHops, startCollector, TRACED } from './trace.ts';

const RELEASE = 'guild-data';
const READY_SECONDS = 60;
/** Factor for Helm's timeouts and the bound of an install on a busy machine. */
const PATIENCE = 10;
const UNDISTURBED_MS = 30_000;
/** Time limit for deletions. */
const GONE_MS = 60_000;
/** LOAD_SCALE=0.2 sends a fifth of the requests, for a busy machine; the figures contain the rate. */
const LOAD_SCALE = Number(process.env['LOAD_SCALE'] || 1);
/** STEPS='install|rolling' runs only the matching steps; without an install there is no load. */
const STEPS = new RegExp(process.env['STEPS'] ?? '');
/** With the chart's own requests, three pods of each Deployment do not fit on a node with two cores. */
const SMALL_REQUESTS = ['defaults', 'services.gateway'].map((part) => `${part}.resources.requests.cpu=25m`);
const names = DEPLOYABLES.map(({ name }) => name);

class ClusterTest {
  readonly #namespace = new Namespace('guild-data-test');
  readonly #images: Images;
  readonly #figures: string[] = [];
  readonly #faults: string[] = [];
  #load: Load | undefined;

  constructor(images: Images) {
    this.#images = images;
  }

  /** True if every check passed. */
  async run(): Promise<boolean> {
    const steps = [
      ['the schemas of the API server', () => this.#schemas()],
      ['helm install', () => this.#install()],
      ['helm test', () => this.#helm('test', RELEASE)],
      ['a call of every service', () => this.#calls()],
      ['allowed and forbidden paths', () => this.#paths()],
      ['an upgrade without a change', () => this.#upgradeWithoutChange()],
      ['load alone', () => this.#undisturbed()],
      ['upgrade and rollback under load', () => this.#upgradeAndRollBack()],
      ['rolling restarts under load', () => this.#restarts()],
      ['deleted pods under load', () => this.#deletions()],
      ['scaling under load', () => this.#scaling()],
      ['a drained node under load', () => this.#drain()],
      ['a trace of one request', () => this.#trace()],
      ['the drill of an alert', () => this.#alert()],
      ['helm uninstall', () => this.#uninstall()],
      ['the other Helm', () => this.#otherHelm()],
      ['the restore drill', () => this.#restore()],
    ] as const;
    for (const [name, step] of steps) if (STEPS.test(name)) await this.#step(name, step);
    console.log(`\n${this.#figures.join('\n')}`);
    if (this.#faults.length > 0) console.log(`\nFAULTS\n${this.#faults.join('\n')}`);
    return this.#faults.length === 0;
  }

  async #step(name: string, step: () => Promise<unknown>): Promise<void> {
    const began = Date.now();
    try {
      await step();
      console.log(`${name}: done after ${seconds(began)} s`);
    } catch (error) {
      this.#fault(name, [error instanceof Error ? error.message : String(error)]);
    }
  }

  #figure(text: string): void {
    console.log(`  ${text}`);
    this.#figures.push(text);
  }

  #fault(name: string, faults: readonly string[]): void {
    for (const fault of faults) console.log(`  FAULT ${fault}`);
    this.#faults.push(...faults.map((fault) => `${name}: ${fault}`));
  }

  #helm(...words: string[]): Promise<string> {
    return runHelm(['--namespace', this.#namespace.name, ...words, '--timeout', `${READY_SECONDS * PATIENCE}s`]);
  }

  /** Arguments that install the chart with a version of the image, and with `more` values. */
  #chart(tag: string, more: readonly string[] = []): string[] {
    const { repository, pullPolicy } = this.#images;
    const set = [`image.repository=${repository}`, `image.tag=${tag}`, `image.pullPolicy=${pullPolicy}`, ...more];
    return [
      RELEASE,
      CHART,
      '-f',
      join(CHART, 'ci', 'evaluation-console-values.yaml'),
      '--set',
      set.join(','),
      '--wait',
    ];
  }

  async #schemas(): Promise<void> {
    this.#figure(`kubeconform -strict: ${await checkSchemas()}`);
  }

  async #install(): Promise<void> {
    const namespace = this.#namespace;
    const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await namespace.apply({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace.name, labels: restricted },
    });
    const [helm = ''] = helms();
    await this.#timed(helm, 'helm install', () => this.#helm('install', ...this.#chart(this.#images.tag)));
    this.#load = await Load.create(namespace, this.#images, RELEASE);
  }

  /** Prints the time until the release is ready, and checks that it is within the bound. */
  async #timed(helm: string, what: string, install: () => Promise<unknown>): Promise<void> {
    const began = Date.now();
    await install();
    const took = Number(seconds(began));
    this.#figure(`ready ${took} s after ${what} by ${await version(helm)} (bound: ${READY_SECONDS} s)`);
    if (took > READY_SECONDS * (LOAD_SCALE < 1 ? PATIENCE : 1)) this.#fault(what, [`took ${took} s`]);
  }

  async #calls(): Promise<void> {
    this.#fault('calls', await callEveryService(this.#namespace, RELEASE));
  }

  async #paths(): Promise<void> {
    const { faults, allowed, forbidden } = await tryAllPaths(this.#namespace, RELEASE);
    this.#fault('paths', faults);
    this.#figure(`${forbidden} forbidden paths tried, and ${allowed} that are allowed`);
  }

  /** The running pods of the services. */
  async #allPods(): Promise<string> {
    const found = await Promise.all(names.map((name) => this.#namespace.pods(name)));
    return found.flat().sort().join(' ');
  }

  async #upgradeWithoutChange(): Promise<void> {
    const before = await this.#allPods();
    await this.#helm('upgrade', ...this.#chart(this.#images.tag));
    const after = await this.#allPods();
    if (after !== before) this.#fault('upgrade without a change', [`${before} became ${after}`]);
  }

  /** Checks the machine itself: if this fails, later failures say nothing about the chart. */
  async #undisturbed(): Promise<void> {
    this.#count('nothing disturbed', await this.#during(200, () => pause(UNDISTURBED_MS)));
  }

  async #upgradeAndRollBack(): Promise<void> {
    const upgrade = await this.#during(100, () => this.#helm('upgrade', ...this.#chart(this.#images.nextTag)));
    this.#count('helm upgrade to a version with another migration', upgrade);
    const rollback = await this.#during(100, () => this.#helm('rollback', RELEASE, '1', '--wait'));
    this.#count('helm rollback, the old version on the new schema', rollback);
  }

  async #restarts(): Promise<void> {
    const result = await this.#during(200, async () => {
      for (const name of names) {
        await this.#namespace.kubectl('rollout', 'restart', `deployment/${RELEASE}-${name}`);
        await this.#namespace.rollout(`${RELEASE}-${name}`);
      }
    });
    this.#count('rolling restart of every Deployment', result);
  }

  async #deletions(): Promise<void> {
    const result = await this.#during(100, async () => {
      for (const name of names) {
        const [pod = ''] = await this.#namespace.pods(name);
        await this.#namespace.kubectl('delete', 'pod', pod);
        await this.#namespace.rollout(`${RELEASE}-${name}`);
      }
    });
    this.#count('a pod of each Deployment deleted', result);
  }

  async #scaling(): Promise<void> {
    await this.#helm('upgrade', ...this.#chart(this.#images.tag, SMALL_REQUESTS));
    const scale = async (replicas: number) => {
      for (const name of names) {
        await this.#namespace.kubectl('scale', `deployment/${RELEASE}-${name}`, `--replicas=${replicas}`);
      }
      for (const name of names) await this.#namespace.rollout(`${RELEASE}-${name}`);
    };
    const result = await this.#during(100, async () => {
      await scale(3);
      await scale(2);
      for (const name of names) await this.#namespace.untilAtMost(name, 2, GONE_MS);
    });
    this.#count('every Deployment scaled to three and back', result);
  }

  async #drain(): Promise<void> {
    const result = await this.#during(100, async () => this.#fault('drain', await drainNode(this.#namespace, RELEASE)));
    this.#count('the node drained, and given back', result);
  }

  async #trace(): Promise<void> {
    await startCollector(this.#namespace, this.#images);
    await this.#helm('upgrade', ...this.#chart(this.#images.tag, [...SMALL_REQUESTS, ...TRACED]));
    this.#fault('trace', await missingHops(this.#namespace, `${RELEASE}-gateway`));
    this.#figure(`the trace of a request was searched for ${HOP_COUNT} hops`);
  }

  async #alert(): Promise<void> {
    if (!prometheusProgram()) return this.#figure(notChecked('Prometheus is not installed'));
    const { fired, ended } = await drillOfAnAlert(this.#namespace, RELEASE);
    this.#figure(`an alert fired ${fired} s after its cause began, and ended ${ended} s after the cause had`);
  }

  async #uninstall(): Promise<void> {
    await this.#helm('uninstall', RELEASE, '--wait');
    const kinds = 'all,secrets,configmaps,networkpolicies,poddisruptionbudgets,serviceaccounts,ingresses,jobs';
    const words = ['get', kinds, '-l', 'app.kubernetes.io/part-of=guild-data', '-o', 'name'];
    // Dependent objects are garbage-collected soon afterwards, pods after they have drained.
    let left: string[] = ['everything'];
    for (const late = Date.now() + GONE_MS; left.length > 0 && Date.now() < late; await pause(500)) {
      left = (await this.#namespace.kubectl(...words)).split('\n').filter((name) => name !== '');
    }
    this.#fault(
      'uninstall',
      left.map((name) => `${name} was left`),
    );
  }

  async #otherHelm(): Promise<void> {
    const other = helms()[1];
    if (other === undefined) return this.#figure(notChecked('another major version of Helm is not installed'));
    const words = ['--namespace', this.#namespace.name, '--timeout', `${READY_SECONDS * PATIENCE}s`];
    const install = ['install', ...this.#chart(this.#images.tag), '--atomic', '--wait-for-jobs'];
    await this.#timed(other, 'install --atomic --wait-for-jobs', () => runHelm([...words, ...install], other));
    await runHelm([...words, 'test', RELEASE], other);
    await runHelm([...words, 'upgrade', ...this.#chart(this.#images.nextTag), '--atomic'], other);
    await runHelm([...words, 'uninstall', RELEASE, '--wait'], other);
  }

  /** Needs no cluster: it backs up and restores a loaded system on this machine. */
  async #restore(): Promise<void> {
    for (const figure of await restoreDrill()) this.#figure(figure);
  }

  async #during(rate: number, work: () => Promise<unknown>): Promise<LoadResult> {
    if (!this.#load) throw new Error('not installed');
    return this.#load.during(rate * LOAD_SCALE, work);
  }

  /** Prints the result of a load and checks that no request failed. */
  #count(what: string, { rate, seconds: took, sent, ok, failed, examples, p50, p99, max }: LoadResult): void {
    const times = `median ${p50} ms, 99 % ${p99} ms, slowest ${max} ms`;
    this.#figure(`${what}: ${sent} requests in ${took} s at ${rate}/s, ${sent - ok} failed; ${times}`);
    if (ok !== sent || sent === 0) this.#fault(what, [JSON.stringify(failed), ...examples]);
  }

  async close(): Promise<void> {
    await this.#namespace.kubectl('delete', 'namespace', this.#namespace.name, '--timeout=120s').catch(() => undefined);
  }
}

const version = async (helm: string) => `Helm ${(await runHelm(['version', '--short'], helm)).trim()}`;

const report = (text: string) => console.log(text);
const cluster = await openCluster(report);
const clusterTest = new ClusterTest(cluster.images);
try {
  process.exitCode = (await clusterTest.run()) ? 0 : 1;
} finally {
  await clusterTest.close();
  await cluster.close();
}
