import type { Client } from 'pg';
import { expect, vi } from 'vitest';
import { guildctlJson } from '#services/cli/fixtures/guildctl.ts';
import type { Deployment } from '../failure/deployment.ts';
import { PATIENCE } from '../patience.ts';
import { Community, GUILDS, type Write } from './community.ts';
import { type Content, connected, repeatedValues } from './content.ts';
import { DATABASE, deploymentOn } from './installed-system.ts';
import type { Server } from './server.ts';

/** The services that record events and relay them. */
const RECORDING = ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation'];
const RECORDED = RECORDING.map((name) => `SELECT guild_id, last_number FROM ${name}.event_counters`).join(
  ' UNION ALL ',
);
const QUEUED = RECORDING.map((name) => `SELECT FROM ${name}.events WHERE state = 'queued'`).join(' UNION ALL ');

/** The events that are still to be sent to the events service. */
export async function queuedEvents(client: Client): Promise<number> {
  return count(client, `SELECT count(*)::int AS count FROM (${QUEUED}) queued`);
}

/** Statements that return the rows of a kind of write, as `guild/account`. */
const STORED: Record<string, string> = {
  link: `SELECT guild_id || '/' || game_id AS row FROM lookup.links`,
  ban: `SELECT guild_id || '/' || game_id AS row FROM moderation.punishments`,
};

/** The links and bans that are not stored in a database. */
export async function missingWrites(server: Server, writes: readonly Write[]): Promise<Write[]> {
  return connected(server.url(DATABASE), async (client) => {
    const missing: Write[] = [];
    for (const [kind, statement] of Object.entries(STORED)) {
      const { rows } = await client.query<{ row: string }>(statement);
      const stored = new Set(rows.map(({ row }) => row));
      missing.push(...writes.filter((one) => one.kind === kind && !stored.has(`${one.guild}/${one.gameId}`)));
    }
    return missing;
  });
}

/**
 * Expects that a system starts on a restored server, with the secrets of the original one, and continues: the audit
 * chains are unbroken, existing keys are valid, queued events are relayed once, and no sequence returns a number twice.
 * Returns the number of audit chains.
 */
export async function expectToContinue(server: Server, original: Deployment, content?: Content): Promise<number> {
  expect(await connected(server.url(DATABASE), (client) => repeatedValues(client, content))).toEqual([]);
  const restored = await deploymentOn(server, { secrets: original.secrets });
  try {
    await restored.start();
    const chains = await verifyAudit(restored);
    const community = new Community(restored.api, original.keys);
    community.start();
    await vi.waitUntil(() => community.acknowledged.length >= GUILDS.length, { timeout: 120_000, interval: 50 });
    await community.stop();
    expect(await missingWrites(server, community.acknowledged)).toEqual([]);
    await connected(server.url(DATABASE), expectEveryEventOnce);
    return chains;
  } finally {
    await restored.stop();
  }
}

/** Waits until the queues of events are empty, and expects each recorded event in the log exactly once. */
export async function expectEveryEventOnce(client: Client): Promise<void> {
  await vi.waitUntil(async () => (await queuedEvents(client)) === 0, { ...PATIENCE, timeout: 120_000, interval: 200 });
  // While they are being compared more may be recorded.
  await expect
    .poll(async () => {
      const recorded = await count(
        client,
        `SELECT coalesce(sum(last_number), 0)::int AS count FROM (${RECORDED}) all_services`,
      );
      const stored = await count(client, `SELECT count(*)::int AS count FROM events.log`);
      const different = await count(client, `SELECT count(DISTINCT (guild_id, id))::int AS count FROM events.log`);
      return { missing: recorded - stored, doubled: stored - different };
    }, PATIENCE)
    .toEqual({ missing: 0, doubled: 0 });
}

/** Verifies the audit chains of all guilds with guildctl. Returns their number. */
export async function verifyAudit(deployment: Deployment): Promise<number> {
  const environment = { GUILDCTL_AUTH: deployment.grpcAddress('auth'), ADMIN_SECRETS: deployment.secrets.admin };
  const verified = await guildctlJson<{ chains: number; broken_chains: number }>(
    ['audit', 'verify', '--all'],
    environment,
  );
  expect(verified.broken_chains).toBe(0);
  expect(verified.chains).toBeGreaterThanOrEqual(GUILDS.length);
  return verified.chains;
}

async function count(client: Client, statement: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(statement);
  return rows[0]?.count ?? -1;
}
