import { createHash } from 'node:crypto';
import packageJson from '../../../package.json' with { type: 'json' };
import { PlatformHost, type PlatformOptions } from '../http/host.ts';

/** A response to a slash command that is edited. */
export interface InteractionEdit {
  applicationId: string;
  /** The token of the interaction, which the platform accepts for 15 minutes. It authorises the call. */
  token: string;
  /** The new text, at most 2,000 characters. It notifies nobody, whomever it mentions. */
  content: string;
}

export interface DiscordInteractionsConfig {
  CHAT_API_URL: string;
  CHAT_BOT_URL: string;
}

/**
 * Edits the responses to slash commands. These calls need no bot token, and do not count towards the rate limits of the
 * bot; each interaction has a limit of its own.
 */
export class DiscordInteractions {
  readonly #host: PlatformHost;
  readonly #headers: Record<string, string>;

  constructor({ config, ...options }: PlatformOptions & { config: DiscordInteractionsConfig }) {
    const { CHAT_API_URL: url, CHAT_BOT_URL: about } = config;
    this.#host = new PlatformHost({ ...options, name: 'chat-interactions', platform: 'chat platform', url });
    this.#headers = { 'user-agent': `DiscordBot (${about}, ${packageJson.version})` };
  }

  /** Edits a response. Returns `gone` if the interaction has expired or the message was deleted. */
  async edit({ applicationId, token, content }: InteractionEdit): Promise<'done' | 'gone'> {
    const path = `/webhooks/${applicationId}/${encodeURIComponent(token)}/messages/@original`;
    const response = await this.#host.call(path, {
      method: 'PATCH',
      headers: this.#headers,
      body: { content, allowed_mentions: { parse: [] } },
      // The token authorises the call, so that a 401 says nothing about our own credentials.
      isForUser: true,
      limit: createHash('sha256').update(token).digest('base64url'),
    });
    if (response.status === 200) return 'done';
    if (response.status === 404 || response.status === 401) return 'gone';
    throw this.#host.unexpectedResponse(response);
  }
}
