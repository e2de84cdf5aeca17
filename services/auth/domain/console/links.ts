import { createHash } from 'node:crypto';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { type RandomBytes, randomText } from '#kit/security/base62.ts';
import type { GuildRole } from '#proto/console/roles.ts';
import { isSnowflake } from '#proto/rest/schemas.ts';
import type { ConsoleTelemetry } from '../../console-telemetry.ts';
import { appendEntries } from '../../store/audit.ts';
import * as store from '../../store/console/links.ts';
import { ownEntry } from '../audit/entry.ts';
import type { CreatedSession, SignInRequest } from './identity.ts';
import type { ConsoleSessions } from './sessions.ts';

const LIFETIME_MS = 10 * 60_000;
const SECRET_LENGTH = 43;
const TOKEN = /^([1-9][0-9]{16,19})_[0-9A-Za-z]{43}$/;

export interface LinksOptions {
  database: Database;
  clock: Clock;
  random: RandomBytes;
  sessions: ConsoleSessions;
  telemetry: ConsoleTelemetry;
  /** The public address of the console; undefined if it is not configured. */
  consoleUrl: string | undefined;
}

/** Creates and uses one-time links, which sign a person in to one guild. */
export class Links {
  readonly #options: LinksOptions;

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /** Creates a link, and makes the guild known if it has no keys. Throws NOT_APPLICABLE without an address of the console. */
  async create(request: { guildId: string; role: GuildRole; note: string }): Promise<store.LinkRow & { url: string }> {
    const { guildId, role, note } = request;
    const { database, random, telemetry, consoleUrl } = this.#options;
    if (consoleUrl === undefined) {
      throw new ApiError('NOT_APPLICABLE', { message: 'The console has no address: set CONSOLE_URL of auth' });
    }
    // The guild is a part of the token, so that the link is found through its guild.
    const token = `${guildId}_${randomText(SECRET_LENGTH, random)}`;
    const link = await database.transaction(async (transaction) => {
      await store.insertGuild(transaction, guildId);
      const now = this.#now();
      const expiresAt = new Date(now.getTime() + LIFETIME_MS);
      const row = { guildId, role, expiresAt, tokenHash: hashOf(token), createdBy: currentOperator() };
      const inserted = await store.insertLink(transaction, row, now);
      const action = { action: 'create_console_link', note, details: { role, link_id: inserted.linkId } };
      await appendEntries(transaction, guildId, [null], ownEntry(now, action));
      return inserted;
    });
    telemetry.linkCreated(guildId, role);
    // The token is in the fragment, which browsers send to no server.
    return { ...link, url: `${consoleUrl}/sign-in/link#${token}` };
  }

  /** Creates a session with the token of a link. Throws NOT_FOUND if the link is unknown, used or expired. */
  async use(token: string, request: Omit<SignInRequest, 'returnTo'>): Promise<CreatedSession> {
    const { database, sessions, telemetry } = this.#options;
    const [, guildId] = TOKEN.exec(token) ?? [];
    if (!guildId || !isSnowflake(guildId)) throw unusable();
    const created = await database.transaction(async (transaction) => {
      const now = this.#now();
      const link = await store.takeLink(transaction, guildId, hashOf(token), now);
      if (!link) throw unusable();
      const { linkId, role } = link;
      const id = `link:${linkId}`;
      await appendEntries(transaction, guildId, [null], {
        at: now,
        actor: 'console',
        action: 'use_console_link',
        service: 'auth',
        method: '',
        details: { person: { id, role }, address: request.address },
      });
      const person = { id, name: 'One-time link', provider: 'link', isOperator: false, credentials: null } as const;
      const rights = { ...person, guilds: [{ guildId, name: '', role }] };
      return sessions.createIn(transaction, rights, { ...request, returnTo: `/guilds/${guildId}` });
    });
    telemetry.signedIn('link');
    return created;
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

const hashOf = (token: string) => createHash('sha256').update(token).digest();

const unusable = () =>
  new ApiError('NOT_FOUND', { message: 'The link is unknown, was used, or is older than 10 minutes' });
