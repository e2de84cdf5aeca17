import { expect, vi } from 'vitest';
import { scrapeSeries } from '../measure/exposition.ts';
import { tablesWithRowsOf } from '../postgres/database.ts';
import type { Network } from './system.ts';

/** Waits until auth has stored the requests that the gateway has counted, also those of this guild. */
export async function untilRequestsAreStored(network: Network, guild: string): Promise<void> {
  const options = { timeout: 30_000, interval: 100 };
  await vi.waitFor(async () => {
    const series = await scrapeSeries(network.address('gateway', 'admin'));
    expect(series.find(({ name }) => name === 'gateway_request_counts')?.value).toBe(0);
  }, options);
  const tables = await tablesWithRowsOf(network.databaseUrl, ['auth'], guild);
  expect(tables).toEqual(expect.arrayContaining(['auth.request_days', 'auth.request_minutes']));
}
