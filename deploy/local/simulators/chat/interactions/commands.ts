import { z } from 'zod';
import type { Answer, Call } from '../../routes.ts';
import { ok } from '../../routes.ts';
import type { World } from '../../world.ts';
import { refuse } from '../errors.ts';
import { findGuild, snowflake } from '../guilds.ts';
import type { ChatRoute } from '../limits.ts';

const MAX_COMMANDS = 100;
const GATEWAY_GUILD_MEMBERS = 1 << 14;

const name = z
  .string()
  .regex(/^[-_'\p{L}\p{N}]{1,32}$/u)
  .refine((text) => text === text.toLowerCase(), 'must be lower case');
const description = z.string().min(1).max(100);

const optionSchema = z
  .looseObject({
    type: z.int().min(1).max(11),
    name,
    description,
    required: z.boolean().default(false),
    choices: z
      .array(z.looseObject({ name: z.string().min(1).max(100) }))
      .max(25)
      .optional(),
  })
  .array()
  .max(25)
  .refine((options) => !options.some(({ required }, index) => required && options[index - 1]?.required === false), {
    message: 'required options come first',
  });

const commandSchema = z.looseObject({
  type: z.literal(1).default(1),
  name,
  description,
  options: optionSchema.default([]),
  default_member_permissions: z
    .string()
    .regex(/^[0-9]{1,20}$/)
    .nullable()
    .default(null),
});
const commandsSchema = z
  .array(commandSchema)
  .max(MAX_COMMANDS)
  .refine((commands) => new Set(commands.map((command) => command.name)).size === commands.length, 'names are unique');

export type Command = z.output<typeof commandSchema> & { id: string; application_id: string; version: string };

/** The slash commands of the application: for all guilds, and for one each. */
export class Commands {
  readonly #world: World;
  readonly #clock: () => number;
  /** By guild; the empty key stands for all guilds. */
  readonly #commands = new Map<string, Command[]>();

  constructor(world: World, clock: () => number) {
    this.#world = world;
    this.#clock = clock;
  }

  /** The command that a member of a guild can use; that of the guild has precedence. */
  find(guildId: string, commandName: string): Command | undefined {
    const candidates = [...(this.#commands.get(guildId) ?? []), ...(this.#commands.get('') ?? [])];
    return candidates.find((command) => command.name === commandName);
  }

  routes(): ChatRoute[] {
    const all = '/api/v10/applications/:application/commands';
    const own = '/api/v10/applications/:application/guilds/:guild/commands';
    const limit = 'commands';
    const self = () => ok(viewApplication(this.#world));
    const rows = [all, own].flatMap((pattern): ChatRoute[] => [
      { method: 'GET', pattern, limit, handle: (call) => ok(this.#commands.get(this.#scope(call)) ?? []) },
      { method: 'PUT', pattern, limit, handle: (call) => this.#replace(call) },
    ]);
    return [{ method: 'GET', pattern: '/api/v10/applications/@me', limit, handle: self }, ...rows];
  }

  /** The guild of the path, or an empty text. Refuses the ID of another application. */
  #scope(call: Call): string {
    if (snowflake(call, 'application') !== this.#world.data.chat.oauth_client.client_id)
      refuse(404, 10002, 'Unknown Application');
    return 'guild' in call.params ? findGuild(this.#world, call).data.id : '';
  }

  /** Replaces all commands. A command that keeps its name keeps its ID. */
  #replace(call: Call): Answer {
    const scope = this.#scope(call);
    const parsed = commandsSchema.safeParse(call.body);
    if (!parsed.success) return refuse(400, 50035, 'Invalid Form Body', { _errors: parsed.error.issues });
    const before = this.#commands.get(scope) ?? [];
    const { application } = this.#world;
    const commands = parsed.data.map((command) => ({
      ...command,
      id: before.find((old) => old.name === command.name)?.id ?? application.newId(this.#clock()),
      application_id: this.#world.data.chat.oauth_client.client_id,
      version: application.newId(this.#clock()),
    }));
    this.#commands.set(scope, commands);
    return ok(commands);
  }
}

/** The application of the bot, with the key that verifies interactions and a flag for the privileged intent. */
function viewApplication(world: World) {
  const [guild] = world.data.chat.guilds;
  return {
    id: world.data.chat.oauth_client.client_id,
    name: guild?.bot.username ?? 'guild-data',
    verify_key: world.application.publicKey,
    flags: guild?.bot.members_intent ? GATEWAY_GUILD_MEMBERS : 0,
    bot_public: true,
    bot_require_code_grant: false,
  };
}
