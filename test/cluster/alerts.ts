import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DEPLOYABLES } from '#local/processes.ts';
import { PORTS } from '../../deploy/chart-files.ts';
import { Prometheus } from '../prometheus/prometheus.ts';
import type { Namespace } from './kubectl.ts';

/** How many times faster than in production the rules look at the past. */
const SPEED = 30;
/** Longer than the windows of the rule, and Prometheus needs a second to see a change. */
const PATIENCE_MS = 120_000;
const QUIET_MS = 20_000;
const ALERT = 'GuildDataServiceDown';
const STOPPED = 'lookup';

/**
 * A Prometheus on this machine scrapes a pod of each service. No critical alert may fire; then all pods of a service are
 * removed and given back, and the alert must fire and end. Returns the seconds that both took.
 */
export async function drillOfAnAlert(namespace: Namespace, release: string): Promise<{ fired: string; ended: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-alerts-'));
  const prometheus = new Prometheus(folder, SPEED);
  const forwards = new Map<string, { url: string; close: () => void }>();
  const scrape = async (name: string) => {
    const [pod = ''] = await namespace.pods(name);
    forwards.get(name)?.close();
    forwards.set(name, await namespace.forward(`pod/${pod}`, PORTS.admin));
  };
  const targets = () => [...forwards].map(([name, { url }]) => ({ name, address: new URL(url).host }));
  const deployment = `deployment/${release}-${STOPPED}`;
  try {
    for (const { name } of DEPLOYABLES) await scrape(name);
    await prometheus.start(targets());
    await pause(QUIET_MS);
    const others = (await prometheus.alerts()).filter(({ state, labels }) => state === 'firing' && isCritical(labels));
    if (others.length > 0) throw new Error(`before the drill: ${others.map(({ name }) => name).join(', ')}`);
    await namespace.kubectl('scale', deployment, '--replicas=0');
    const fired = await until(async () => (await prometheus.firing()).includes(ALERT), 'does not fire');
    await namespace.kubectl('scale', deployment, '--replicas=2');
    await namespace.rollout(`${release}-${STOPPED}`);
    await scrape(STOPPED);
    prometheus.setTargets(targets());
    const ended = await until(async () => !(await prometheus.firing()).includes(ALERT), 'does not end');
    return { fired, ended };
  } finally {
    await namespace.kubectl('scale', deployment, '--replicas=2');
    for (const { close } of forwards.values()) close();
    await prometheus.stop();
    rmSync(folder, { recursive: true });
  }
}

const isCritical = (labels: Record<string, string>) => labels['severity'] === 'critical';

/** Waits for a condition; returns the seconds. */
async function until(holds: () => Promise<boolean>, fault: string): Promise<string> {
  const began = Date.now();
  while (!(await holds())) {
    if (Date.now() - began > PATIENCE_MS) throw new Error(`${ALERT} ${fault}`);
    await pause(500);
  }
  return ((Date.now() - began) / 1000).toFixed(0);
}
