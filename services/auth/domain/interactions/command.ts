import { ApiError } from '#kit/errors.ts';
import type { GuildRole } from '#proto/console/roles.ts';
import { membersRoutes } from '#proto/rest/members.ts';
import type { Route } from '#proto/rest/route.ts';
import type { CallingMember, RestCall, RestCalls } from './rest-calls.ts';

/** A slash command that is being run. */
export interface CommandRun {
  guildId: string;
  /** The member who used it. */
  chatId: string;
  interactionId: string;
  /** The values of its options, by name. */
  options: Readonly<Record<string, string>>;
}

/** Makes the calls of a slash command. */
export class CommandCalls {
  readonly #calls: RestCalls;
  readonly run: CommandRun;

  constructor(calls: RestCalls, run: CommandRun) {
    this.#calls = calls;
    this.run = run;
  }

  /** Calls a REST route for the member. The role is that under which an audit names the member. */
  make<Called extends Route>(call: RestCall<Called>, role: GuildRole = 'viewer') {
    const { guildId, chatId, interactionId } = this.run;
    const member: CallingMember = { guildId, chatId, interactionId, role };
    return this.#calls.make(member, call);
  }

  /** Returns the game account that is linked with a chat account; null if there is none. */
  async linkOf(chatId: string) {
    const { link } = await this.make({ route: membersRoutes.getLinks, params: { chatId } });
    return link;
  }
}

/** Thrown by a command that the member may not use, or not in this way; the message is the response. */
export class CommandRejected extends Error {}

/** Returns the result of a call; null if it throws NOT_FOUND. */
export async function ifFound<Result>(call: Promise<Result>): Promise<Result | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}
