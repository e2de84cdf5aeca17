import type { SharedRedis } from '../budget/shared-redis.ts';
import type { OpenCloudConfig } from '../config.ts';
import type { GameMessages } from '../game-messages.ts';
import type { PlatformHost, PlatformOptions } from '../http/host.ts';
import { robloxCloudHost } from './hosts.ts';

/** The name of the rate limit of messages. */
const LIMIT = 'messages';
/** Open Cloud accepts 5,000 messages a minute of the owner of a key. */
const ALLOWANCE = { slots: 5_000, windowMs: 60_000 };
/** The statuses with which Open Cloud rejects every message to a universe, until somebody changes the key. */
const REJECTIONS = [400, 401, 403, 404];

export interface RobloxMessagesOptions extends PlatformOptions {
  config: OpenCloudConfig;
  /** The operator's key for Open Cloud, with the permission `universe-messaging-service:publish` for the universes. */
  key: string;
  /** Shares the call budget among all processes. */
  shared: SharedRedis;
}

/** Sends messages with Open Cloud's `publishMessage`, as documented in August 2026. */
export class RobloxMessages implements GameMessages {
  readonly #host: PlatformHost;
  readonly #key: string;

  constructor({ config, key, ...options }: RobloxMessagesOptions) {
    this.#host = robloxCloudHost(config, { ...options, allowances: { [LIMIT]: ALLOWANCE } });
    this.#key = key;
  }

  async publish(universeId: number, topic: string, message: string): Promise<'published' | 'rejected'> {
    const response = await this.#host.call(`/cloud/v2/universes/${universeId}:publishMessage`, {
      method: 'POST',
      headers: { 'x-api-key': this.#key },
      body: { topic, message },
      limit: LIMIT,
    });
    if (response.status === 200) return 'published';
    if (REJECTIONS.includes(response.status)) return 'rejected';
    throw this.#host.unexpectedResponse(response);
  }
}
