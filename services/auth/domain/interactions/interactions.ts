import { ApiError, asApiError, isServerError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ClaimedItem, ItemKey, QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { DiscordInteractions } from '#platforms/discord/interactions.ts';
import { isChatCommand } from '#proto/chat/commands.ts';
import type { InteractionTelemetry } from '../../interaction-telemetry.ts';
import {
  emptyInteraction,
  INTERACTIONS,
  type InteractionData,
  insertInteraction,
  type NewInteraction,
} from '../../store/interactions.ts';
import { CommandCalls, CommandRejected } from './command.ts';
import type { RestCalls } from './rest-calls.ts';
import { runCommand } from './run-command.ts';

export const INTERACTION_QUEUE = 'interactions';
const PURPOSE = 'interaction-token';
const CONCURRENCY = 8;
/** Of one guild, so that a guild whose members use many commands delays no other. */
const MAX_PER_GUILD = 2;
/** Renewed while a command runs, so that the commands of a process that died are soon run by another one. */
const LEASE_MS = 10_000;
const BACKOFF = { minMs: 500, maxMs: 10_000 };
/** The platform accepts the token for 15 minutes. */
const TOKEN_SECONDS = 14.5 * 60;
/** The platform waits for 3 seconds for the response that is edited. */
const RESPONSE_SECONDS = 10;
/** A command that cannot be run for so long gets a last response, so that the person does not wait for nothing. */
const GIVE_UP_SECONDS = 60;

const UNAVAILABLE = 'This does not work at the moment. Nothing tries it again: use the command again in a few minutes.';
/** The last attempt may have banned the player although its response was lost. */
const BAN_UNCERTAIN =
  'This does not work at the moment, and it is not certain whether the player was banned. Use the command again in a few minutes: nobody is banned twice.';

export interface InteractionsOptions {
  database: Queryable;
  /** Keys that encrypt the platform's tokens. */
  ring: KeyRing;
  calls: RestCalls;
  chat: Pick<DiscordInteractions, 'edit'>;
  telemetry: InteractionTelemetry;
  /** Handles an interaction that was just committed, unless this process is handling the maximum number of them. */
  begin: (item: ItemKey) => Promise<boolean>;
}

/** Stores slash commands, runs them, and edits the platform's response with the result. */
export class Interactions {
  readonly #options: InteractionsOptions;

  constructor(options: InteractionsOptions) {
    this.#options = options;
  }

  /** Stores an interaction whose signature the gateway has verified, and begins to handle it. */
  async accept({ token, ...interaction }: Omit<NewInteraction, 'token'> & { token: string }) {
    const { database, ring, begin } = this.#options;
    const outcome = await insertInteraction(database, { ...interaction, token: ring.encrypt(PURPOSE, token) });
    if (outcome === 'accepted') void begin(interaction);
    return outcome;
  }

  get definition(): QueueDefinition<InteractionData> {
    return {
      name: INTERACTION_QUEUE,
      table: INTERACTIONS,
      ordered: false,
      concurrency: CONCURRENCY,
      maxPerGuild: MAX_PER_GUILD,
      leaseMs: LEASE_MS,
      // An interaction ends by itself once its token has expired.
      retry: {
        limits: { maxAttempts: null, maxOutageSeconds: null },
        isPermanent: () => false,
        // Commands call different services: one that is down does not hold up the commands that need others.
        isOutage: () => false,
        delayMs: (attempts) => backoffMs(attempts, BACKOFF),
      },
      handle: (item) => this.#handle(item),
      recorded: async (transaction, item, { outcome }) => {
        if (outcome === 'done') await emptyInteraction(transaction, item);
      },
    };
  }

  async #handle(item: ClaimedItem<InteractionData>): Promise<void> {
    const { ring, chat, telemetry } = this.#options;
    const { guildId, id } = item;
    const { command, applicationId, token, age } = item.data;
    if (age > TOKEN_SECONDS) return telemetry.ended({ guildId, id, command, age }, 'expired');
    const { content, outcome } = await this.#contentOf(item);
    const edited = await chat.edit({ applicationId, token: ring.decrypt(PURPOSE, token), content });
    // The platform knows no message before it has received the response of the gateway.
    if (edited === 'gone' && age < RESPONSE_SECONDS) throw new ApiError('UNAVAILABLE');
    telemetry.ended({ guildId, id, command, age }, edited === 'gone' ? 'expired' : outcome);
  }

  /**
   * Runs the command and returns the response. A repeated run returns the same, because each write has the interaction's ID
   * as its idempotency key. Throws if a service is down and the command is young.
   */
  async #contentOf({ guildId, id, data }: ClaimedItem<InteractionData>) {
    const { chatId, command, permissions, options, age } = data;
    if (!isChatCommand(command)) return { content: 'This command is not known here.', outcome: 'rejected' as const };
    try {
      const calls = new CommandCalls(this.#options.calls, { guildId, chatId, interactionId: id, options });
      return { content: await runCommand(command, BigInt(permissions), calls), outcome: 'answered' as const };
    } catch (error) {
      if (error instanceof CommandRejected) return { content: error.message, outcome: 'rejected' as const };
      const failure = asApiError(error);
      if (!isServerError(failure)) return { content: rejectionText(failure), outcome: 'rejected' as const };
      if (age < GIVE_UP_SECONDS) throw failure;
      this.#options.telemetry.gaveUp({ guildId, id, command, age }, failure);
      return { content: command === 'ban' ? BAN_UNCERTAIN : UNAVAILABLE, outcome: 'failed' as const };
    }
  }
}

/** The messages of the API say what was wrong and what to do. The fields of the body are the options of the command. */
const rejectionText = ({ message }: ApiError) =>
  `${message}.`.replace(/\.\.$/, '.').replace(/\bbody\.([a-z_]+)/g, '`$1`');
