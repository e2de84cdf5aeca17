import { counted, failed, type GuildCheck, listed, passed } from '#kit/guild-state/check.ts';
import { exactly, type GuildCount } from '#kit/guild-state/count.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { DisabledReason } from '#proto/rest/webhooks/schemas.ts';
import { listEndpoints } from '../store/endpoints.ts';
import type { Endpoint } from './endpoint.ts';

/** Reasons for which a webhook stopped although nobody wanted that. */
const FAULTS: Partial<Record<DisabledReason, string>> = {
  gone: 'its receiver responded that it no longer exists',
  failing: 'it failed for five days',
  key_revoked: 'its key was revoked',
  operator: 'an operator disabled it',
};

/** Counts and checks the webhooks of a guild. */
export class GuildState {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  counts = async (guildId: string): Promise<GuildCount[]> => {
    const endpoints = await listEndpoints(this.#database, guildId);
    return [exactly('webhooks', endpoints.length), exactly('failing_webhooks', endpoints.filter(isFaulty).length)];
  };

  checks = async (guildId: string): Promise<GuildCheck[]> => [
    webhookCheck(await listEndpoints(this.#database, guildId)),
  ];
}

const isFaulty = ({ enabled, failingSince, disabledReason }: Endpoint): boolean =>
  enabled ? failingSince !== null : disabledReason !== null && FAULTS[disabledReason] !== undefined;

function webhookCheck(endpoints: readonly Endpoint[]): GuildCheck {
  const faulty = endpoints.filter(isFaulty);
  if (faulty.length === 0) {
    const message = endpoints.length === 0 ? 'The guild has no webhooks.' : 'No webhook fails.';
    return passed('webhooks_delivered', message);
  }
  const fixes = faulty.some(({ enabled }) => enabled)
    ? 'Look at the deliveries of the webhook, which show what its receiver responded, and repair the receiver or the URL.'
    : 'Repair the receiver or the URL and enable the webhook again, or remove it.';
  return failed(
    'webhooks_delivered',
    `${counted(faulty.length, 'webhook')} ${faulty.length === 1 ? 'does' : 'do'} not deliver events: ${listed(faulty.map(faultOf))}.`,
    fixes,
  );
}

/** Describes what is wrong with a webhook, without its URL, which may contain a secret. */
function faultOf({ description, url, enabled, failingSince, disabledReason }: Endpoint): string {
  const name = description || new URL(url).host;
  const since = failingSince ? ` since ${utcMinute(failingSince)}` : '';
  if (enabled) return `${name} (fails${since})`;
  return `${name} (disabled, because ${FAULTS[disabledReason ?? 'operator']}${since && `; failed${since}`})`;
}

/** Returns a time in UTC to the minute, such as `2026-01-05 17:30 UTC`. */
const utcMinute = (time: Date) => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
