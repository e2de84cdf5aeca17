import { setTimeout as wait } from 'node:timers/promises';
import type { GrpcClient } from '#kit/grpc-client.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { type EraseUserResponse, ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import type { Command, Input, Output, Screen } from './command.ts';
import type { Connections } from './connections.ts';
import { table } from './text.ts';

/** What is to be erased is being written all the time. The audit says that it was begun, not that it is done. */
export class UnfinishedError extends Error {
  constructor() {
    super('Not done: rows are still being written. Stop what sends them, and run this again');
    this.name = 'UnfinishedError';
  }
}

/** Lookup comes last: until then a user's accounts can be found by each other, also after an interruption. */
const SERVICES = ['moderation', 'activity', 'members', 'bindings', 'lookup'];
/** Requests that were under way may have written behind us; who keeps sending data stores it again. */
const MOST_ROUNDS = 3;
const PAUSE_MS = 1_000;

const CONFIRM = { 'dry-run': { type: 'boolean' }, yes: { type: 'boolean' } } as const;
const ACTOR = { actor: { type: 'string' } } as const;
const CONFIRM_NOTES = [
  '--dry-run        count the rows, and change nothing',
  '--yes            erase; there is no way back. Interrupted, it goes on where it was when run again',
];

type ErasureClient = GrpcClient<typeof ErasureServiceService>;
/** One call of a service, which does a part of the work. */
type Step = (client: ErasureClient, dryRun: boolean) => Promise<EraseUserResponse>;

const eraseGuild: Command = {
  name: 'guild erase',
  summary: 'revoke the keys of a guild and remove all that is stored of it',
  usage: '--guild ID (--dry-run | --yes) [--actor NAME]',
  notes: [
    ...CONFIRM_NOTES,
    'What stays: that it was erased, in the audit, and the number of its next key. Keys are forgotten 15 s after they',
    'were revoked, when every gateway has heard of it. Counters in Redis end by themselves within two minutes.',
  ],
  options: { guild: { type: 'string' }, ...CONFIRM, ...ACTOR },
  run: async (input, connections, screen) => {
    const guildId = input.requiredText('guild');
    const dryRun = isDryRun(input);
    input.check();
    const step: Step = (client, dry) => client.eraseGuild({ guildId, dryRun: dry });
    const erasing = new Erasing(connections, step, screen);
    const all = [...SERVICES, 'auth'];
    if (dryRun) return output({ guild_id: guildId }, true, await erasing.count(all));
    const audit = connections.admin(KeyAdminServiceService, 'auth');
    const note = { guildId, what: 'guild', actor: input.actor };
    await audit.revokeGuildKeys({ guildId, actor: input.actor });
    await audit.recordErasure({ ...note, state: 'begun', removed: [] });
    const removed = await erasing.run(all);
    await audit.recordErasure({ ...note, state: 'done', removed: rowsOf(removed) });
    return output({ guild_id: guildId }, false, removed);
  },
};

const eraseUser: Command = {
  name: 'user erase',
  summary: 'remove all that is stored of a user of a guild',
  usage: '--guild ID (--game-id ID | --chat-id ID) (--dry-run | --yes) [--actor NAME]',
  notes: [
    ...CONFIRM_NOTES,
    'The account that it is linked to now is erased too. Bans and mutes of the user end, and game servers are not told:',
    'lift them first where they are to hear of it. Roles on the chat platform stay: unlink first to take them back.',
    'What the user decided as a moderator stands without the name. Encrypted answers to repeated writes go within a day.',
  ],
  options: {
    guild: { type: 'string' },
    'game-id': { type: 'string' },
    'chat-id': { type: 'string' },
    ...CONFIRM,
    ...ACTOR,
  },
  run: async (input, connections, screen) => {
    const guildId = input.requiredText('guild');
    const kind = input.oneOf('game-id', 'chat-id');
    const gameId = input.wholeNumber('game-id', { min: 1, max: Number.MAX_SAFE_INTEGER });
    const chatId = input.text('chat-id');
    const dryRun = isDryRun(input);
    input.check();
    const account =
      kind === 'chat-id'
        ? ({ $case: 'chatId', value: chatId ?? '' } as const)
        : ({ $case: 'gameId', value: gameId ?? 0 } as const);
    const accounts = await connections.admin(LinkAdminServiceService, 'lookup').findAccounts({ guildId, account });
    const step: Step = (client, dry) => client.eraseUser({ guildId, ...accounts, dryRun: dry });
    const erasing = new Erasing(connections, step, screen);
    const who = { guild_id: guildId, chat_id: accounts.chatId ?? null, game_id: accounts.gameId ?? null };
    const all = [...SERVICES, 'auth'];
    if (dryRun) return output(who, true, await erasing.count(all));
    const audit = connections.admin(KeyAdminServiceService, 'auth');
    const note = { guildId, what: 'user', actor: input.actor };
    await audit.recordErasure({ ...note, state: 'begun', removed: [] });
    const removed = await erasing.run(all);
    await audit.recordErasure({ ...note, state: 'done', removed: rowsOf(removed) });
    return output(who, false, removed);
  },
};

export const eraseCommands: readonly Command[] = [eraseGuild, eraseUser];

interface Removed {
  service: string;
  table: string;
  rows: number;
}

/** Takes a step with every service until there is nothing left to do. */
class Erasing {
  readonly #clients = new Map<string, ErasureClient>();
  readonly #connections: Connections;
  readonly #step: Step;
  readonly #screen: Screen;
  readonly #rows = new Map<string, Removed>();

  constructor(connections: Connections, step: Step, screen: Screen) {
    this.#connections = connections;
    this.#step = step;
    this.#screen = screen;
  }

  /** What there is, in the order of the services. */
  async count(services: readonly string[]): Promise<Removed[]> {
    for (const service of services) this.#add(service, await this.#step(this.#client(service), true));
    return [...this.#rows.values()];
  }

  /** Erases until nothing is found any more, and returns what was removed. UnfinishedError when more keeps coming. */
  async run(services: readonly string[]): Promise<Removed[]> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      let found = 0;
      for (const service of services) found += await this.#finish(service);
      if (found === 0) return [...this.#rows.values()];
    }
    throw new UnfinishedError();
  }

  async #finish(service: string): Promise<number> {
    let sum = 0;
    for (let isDone = false; !isDone; ) {
      const answer = await this.#step(this.#client(service), false);
      isDone = answer.isDone;
      const rows = this.#add(service, answer);
      sum += rows;
      if (!isDone)
        this.#screen.tell(rows > 0 ? `${service}: ${sum} rows so far` : `${service}: waiting until it may go on`);
      if (!isDone && rows === 0) await wait(PAUSE_MS);
    }
    return sum;
  }

  #add(service: string, { tables }: EraseUserResponse): number {
    for (const { table: name, rows } of tables) {
      const before = this.#rows.get(name)?.rows ?? 0;
      this.#rows.set(name, { service, table: name, rows: before + rows });
    }
    return tables.reduce((sum, { rows }) => sum + rows, 0);
  }

  #client(service: string): ErasureClient {
    const client = this.#clients.get(service) ?? this.#connections.admin(ErasureServiceService, service);
    this.#clients.set(service, client);
    return client;
  }
}

/** A fault unless exactly one of the two is given. */
const isDryRun = (input: Input) => input.oneOf('dry-run', 'yes') === 'dry-run';

const rowsOf = (removed: readonly Removed[]) => removed.map(({ table: name, rows }) => ({ table: name, rows }));

function output(who: Record<string, unknown>, dryRun: boolean, removed: readonly Removed[]): Output {
  const total = removed.reduce((sum, { rows }) => sum + rows, 0);
  const document = { ...who, dry_run: dryRun, removed, total };
  const what = dryRun ? 'Nothing was changed. There are' : 'Removed:';
  if (total === 0) return { document, text: dryRun ? 'There is nothing to erase.' : 'Nothing was left to erase.' };
  const rows = removed.map((each) => [each.service, each.table, String(each.rows)]);
  return { document, text: `${what} ${total} rows\n\n${table(['SERVICE', 'TABLE', 'ROWS'], rows)}` };
}
