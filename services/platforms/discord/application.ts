import { z } from 'zod';
import type { ChatApplication, ChatApplicationState, ChatSlashCommand, ChatSlashOption } from '../chat.ts';
import type { DiscordApi } from './api.ts';
import { snowflake } from './members.ts';

const LIMIT = 'application';
/** The bits of an application that may receive the members of guilds: verified applications have the first one. */
const MEMBERS_INTENT = (1 << 14) | (1 << 15);

const applicationSchema = z.object({
  id: snowflake,
  flags: z.number().int().nullish(),
  verify_key: z.string().nullish(),
  interactions_endpoint_url: z.string().nullish(),
});

/** The types of options and the places of commands, as the platform numbers them. */
const OPTION_TYPES = { text: 3, integer: 4, member: 6 } as const satisfies Record<ChatSlashOption['kind'], number>;
const SLASH_COMMAND = 1;
const IN_GUILDS = 0;

/** The application of the bot: what it may receive, and its slash commands. */
export class DiscordApplication implements ChatApplication {
  readonly #api: DiscordApi;

  constructor(api: DiscordApi) {
    this.#api = api;
  }

  async read(): Promise<ChatApplicationState> {
    const response = await this.#api.call('/applications/@me', { guildId: '', limit: LIMIT });
    const found = this.#api.host.expect(response, applicationSchema);
    return {
      id: found.id,
      publicKey: found.verify_key ?? null,
      receivesMembers: ((found.flags ?? 0) & MEMBERS_INTENT) !== 0,
      interactionsUrl: found.interactions_endpoint_url ?? null,
    };
  }

  async registerCommands(applicationId: string, commands: readonly ChatSlashCommand[]): Promise<void> {
    const response = await this.#api.call(`/applications/${applicationId}/commands`, {
      method: 'PUT',
      body: commands.map(registered),
      guildId: '',
      limit: 'commands',
    });
    if (response.status !== 200) throw this.#api.host.unexpectedResponse(response);
  }
}

/** A command as the platform stores it. Members without the permission do not see it. */
function registered({ name, description, permissions, options }: ChatSlashCommand) {
  return {
    name,
    description,
    type: SLASH_COMMAND,
    contexts: [IN_GUILDS],
    default_member_permissions: permissions === null ? null : String(permissions),
    options: options.map(({ kind, maxLength, ...option }) => ({
      ...option,
      type: OPTION_TYPES[kind],
      ...(kind === 'integer' && { min_value: 1, max_value: Number.MAX_SAFE_INTEGER }),
      ...(maxLength !== undefined && { max_length: maxLength }),
    })),
  };
}
