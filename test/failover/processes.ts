import { readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import type { Deployment, Replica } from '../failure/deployment.ts';
import { scrapeSeries } from '../measure/exposition.ts';
import { connect } from '../network/grpc.ts';
import { receivedBeats, receivedVersions, watchKeys } from '../system/auth.ts';

const SWITCHES = 'postgres_primary_switches_total';
const LISTENING = 'listener_receiving';
const WAIT = { timeout: 90_000, interval: 200 };

/** Each process with the time of its start, in ticks since the machine's: a restarted process has others. */
export function identities({ replicas }: Deployment): string[] {
  return replicas.map(({ deployable, child }) => {
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
    // The fields after the name of the program, which is in parentheses; the start is the 22nd of all.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${deployable.name} ${child.pid} ${started}`;
  });
}

/** Waits until each process with a database has moved so often to another primary, as its metric says. */
export async function untilSwitched(deployment: Deployment, times: number): Promise<void> {
  const counted = async () => {
    const series = await Promise.all(withDatabase(deployment).map((replica) => seriesOf(replica, SWITCHES)));
    return series.map((values) => values[0]?.value);
  };
  await vi.waitFor(async () => expect(await counted()).toEqual(withDatabase(deployment).map(() => times)), WAIT);
}

/** Waits until each listener of each process receives notifications. */
export async function untilListening(deployment: Deployment): Promise<void> {
  const notified = deployment.replicas.filter(({ deployable }) => deployable.notified);
  await vi.waitFor(async () => {
    const series = (await Promise.all(notified.map((replica) => seriesOf(replica, LISTENING)))).flat();
    expect(series.length).toBeGreaterThanOrEqual(notified.length);
    expect(series.every(({ value }) => value === 1)).toBe(true);
  }, WAIT);
}

export interface AuthWatch {
  /** True if every replica of auth has sent this version of a key. */
  received: (keyId: string, version: number) => boolean;
  close: () => void;
}

/** Follows the changes of keys on every replica of auth, each of which receives them by LISTEN. */
export async function watchAuth(deployment: Deployment): Promise<AuthWatch> {
  const watches = deployment.replicasOf('auth').map(({ ports }) => {
    const address = `127.0.0.1:${ports.grpc}`;
    const { client, close } = connect(AuthServiceService, 'auth', address, systemClock, [deployment.internalSecret]);
    return { watched: watchKeys(client), close };
  });
  // A watch that has just begun receives what changed before.
  await vi.waitUntil(() => watches.every(({ watched }) => receivedBeats(watched) > 0), WAIT);
  return {
    received: (keyId, version) => watches.every(({ watched }) => receivedVersions(watched, keyId).includes(version)),
    close: () => {
      for (const { watched, close } of watches) {
        watched.cancel();
        close();
      }
    },
  };
}

const withDatabase = ({ replicas }: Deployment) =>
  replicas.filter(({ deployable }) => deployable.holds.includes('database'));

async function seriesOf({ ports }: Replica, name: string) {
  return (await scrapeSeries(`127.0.0.1:${ports.admin}`)).filter((series) => series.name === name);
}
