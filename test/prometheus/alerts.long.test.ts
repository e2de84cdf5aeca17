import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ALL_RULES } from '../contract/monitoring.ts';
import { amount, LONG } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { type Network, startNetwork } from '../system/system.ts';
import { GENERAL_CAUSES, SEPARATE_CAUSES, type Stage, stopLeftovers } from './drills.ts';
import { OrdinaryLoad } from './ordinary-load.ts';
import { Prometheus, prometheusProgram, type Target } from './prometheus.ts';

/**
 * How many times faster than in production the rules look at the past (`faster` in faster.ts). With 1 the drill takes the
 * times of production: hours.
 */
const SPEED = Number(process.env['DRILL_SPEED'] ?? 30);
const HOUR_MS = 3_600_000 / SPEED;
/** Longer than any window and `for` of a critical alert that has to pass before it fires or ends, except of the audit. */
const PATIENCE_MS = 90_000 + HOUR_MS;
const AUDIT_MS = PATIENCE_MS + 3 * HOUR_MS;
/** The short form has two of the drills and some seconds of ordinary load. */
const LOAD_MS = amount(15_000, HOUR_MS);
const SHORT = ['GuildDataServiceDown', 'GuildDataInternalCallsRejected'];
const PARTS = ['postgres', 'auth grpc', 'activity grpc'];
/** Alerts that rightly fire if all parts run in one process beside other tests, which take the processor for seconds. */
const OF_A_BUSY_MACHINE = [
  'GuildDataDatabaseUnavailable',
  'GuildDataFaultsBurnFast',
  'GuildDataKeysNotVerified',
  'GuildDataServiceDown',
  'GuildDataSlowBurnFast',
];

const critical = ALL_RULES.filter(({ labels }) => labels?.['severity'] === 'critical').map(({ alert = '' }) => alert);

test('every critical alert has a drill', () => {
  const drilled = [...SEPARATE_CAUSES, ...GENERAL_CAUSES].flatMap(({ alerts }) => alerts);
  expect(drilled.toSorted()).toEqual(critical.toSorted());
});

const isInstalled = prometheusProgram() !== undefined;
if (!isInstalled) console.warn('NOT CHECKED: Prometheus is not installed (Debian: apt-get install prometheus)');

describe.skipIf(!isInstalled)('the alerts of a real Prometheus that scrapes a running system', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guild-prometheus-'));
  const prometheus = new Prometheus(folder, SPEED);
  const proxies = new Map<string, TcpProxy>();
  const targets: Target[] = [];
  let network: Network;
  let load: OrdinaryLoad;
  let stage: Stage;

  beforeAll(async () => {
    network = await startNetwork({ console: true, through });
    for (const name of network.services.keys()) targets.push({ name, address: network.address(name, 'admin') });
    await prometheus.start(targets);
    load = new OrdinaryLoad(network);
    await load.start();
    const { secret: key } = await network.createKey();
    const scrape = (target: Target) => {
      targets.push(target);
      prometheus.setTargets(targets);
    };
    stage = { network, load, proxies, scrape, key };
  }, 180_000);

  afterAll(async () => {
    await load?.stop();
    await prometheus.stop();
    await stopLeftovers(network);
    await network?.stop();
    for (const proxy of proxies.values()) await proxy.close();
    rmSync(folder, { recursive: true });
  }, 120_000);

  const seen = new Map<string, number>();

  /** Puts proxies in front of the parts that drills disturb. A service has HTTP first, and then gRPC. */
  async function through(part: string, address: string): Promise<string> {
    const count = (seen.get(part) ?? 0) + 1;
    seen.set(part, count);
    const name = count === 1 ? part : `${part} grpc`;
    if (!PARTS.includes(name) || proxies.has(name)) return address;
    const proxy = await startTcpProxy(Number(address.split(':')[1]));
    proxies.set(name, proxy);
    return `127.0.0.1:${proxy.port}`;
  }

  const firingCritical = async () => (await prometheus.firing()).filter((name) => critical.includes(name));

  /** Waits until each of these critical alerts fires. */
  async function untilFiring(names: readonly string[], timeout: number): Promise<void> {
    const started = performance.now();
    const missing = new Set(names);
    await vi.waitUntil(
      async () => {
        for (const name of await firingCritical()) {
          if (!missing.delete(name)) continue;
          printFigure(`${name} fires after`, `${Math.round((performance.now() - started) / 1000)} s`);
        }
        return missing.size === 0;
      },
      { timeout, interval: 500 },
    );
  }

  async function untilEnded(names: readonly string[], timeout: number): Promise<void> {
    const isOver = async () => (await firingCritical()).every((name) => !names.includes(name));
    await vi.waitUntil(isOver, { timeout, interval: 500 });
  }

  test('an hour of ordinary load makes no critical alert fire', { timeout: LOAD_MS + 60_000 }, async () => {
    const fired = new Set<string>();
    const end = performance.now() + LOAD_MS;
    while (performance.now() < end) {
      for (const name of await prometheus.firing()) fired.add(name);
      await wait(1_000);
    }
    const count = (prefix: string) =>
      [...load.statuses].reduce((sum, [status, times]) => sum + (String(status).startsWith(prefix) ? times : 0), 0);
    printFigure('requests of the ordinary load', `${count('2')} successful, ${count('5')} failed`);
    printFigure('alerts during the ordinary load', [...fired].join(', ') || 'none');
    expect(count('2')).toBeGreaterThan(LOAD_MS / 1000);
    // The rules see the load: without it no alert could fire.
    expect(await prometheus.value('sum(release:guild_data_requests:rate5m)')).toBeGreaterThan(1);
    expect(await prometheus.value('count(up{release="drill"} == 1)')).toBe(targets.length);
    const judged = critical.filter((name) => LONG || !OF_A_BUSY_MACHINE.includes(name));
    expect([...fired].filter((name) => judged.includes(name))).toEqual([]);
  });

  test('each separate cause makes its alert fire until the cause has ended', { timeout: 1_200_000 }, async () => {
    const drills = SEPARATE_CAUSES.filter(({ alerts }) => LONG || alerts.some((name) => SHORT.includes(name)));
    const names = drills.flatMap(({ alerts }) => alerts);
    const started = performance.now();
    const ends: (() => Promise<void>)[] = [];
    try {
      for (const { cause } of drills) ends.push(await cause(stage));
      await untilFiring(names, PATIENCE_MS);
      // The heartbeats before the silence are then out of every window of the rule.
      if (LONG) await wait(Math.max(0, started + HOUR_MS - performance.now()));
      expect(await firingCritical()).toEqual(expect.arrayContaining([...names]));
    } finally {
      for (const end of ends) await end();
    }
    await untilEnded(
      names.filter((name) => name !== 'GuildDataAuditBroken'),
      PATIENCE_MS,
    );
  });

  test.runIf(LONG).each(GENERAL_CAUSES)('$title: $alerts', { timeout: 1_200_000 }, async ({ alerts, cause }) => {
    const end = await cause(stage);
    try {
      await untilFiring(alerts, PATIENCE_MS);
      expect(await firingCritical()).toEqual(expect.arrayContaining([...alerts]));
    } finally {
      await end();
    }
    await untilEnded(
      critical.filter((name) => name !== 'GuildDataAuditBroken'),
      PATIENCE_MS,
    );
  });

  test.runIf(LONG)('at the end no critical alert fires', { timeout: AUDIT_MS }, async () => {
    await untilEnded(critical, AUDIT_MS);
    expect(await firingCritical()).toEqual([]);
    expect(prometheus.output).not.toContain('level=error');
  });
});
