import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { ConsoleTelemetry } from '../../console-telemetry.ts';
import * as store from '../../store/console/rights.ts';
import type { SessionRow, StoredRights } from '../../store/console/sessions.ts';
import type { PlatformRights, PlatformRoles } from './identity.ts';

const MINUTE_MS = 60_000;
/** The age at which the rights of a session are read again from the provider. */
const FRESH_MS = 10 * MINUTE_MS;
/** Rights that were read this long ago are still used while the provider does not respond. */
const USABLE_MS = 30 * MINUTE_MS;
/** After a failure the provider is not called again for the same session for this time. */
const RETRY_MS = 30_000;
/** How long a process may take to read the rights of a session; after it another one may. */
const READING_MS = 15_000;
const POLL_MS = 100;
/** Shorter than the deadline of the calls that wait for the rights. */
const MAX_WAIT_MS = 2_000;

/** The maximum number of guilds that a session stores; the chat platform allows 200 per person. */
const MAX_GUILDS = 200;
const MAX_NAME_LENGTH = 100;
/** The maximum number of sessions whose rights are read in the background at a time. */
const MAX_BACKGROUND = 4;
const PURPOSE = 'console-credentials';

export interface RightsOptions {
  database: Queryable;
  clock: Clock;
  /** The key ring with the key that encrypts credentials. */
  ring: KeyRing;
  roles: PlatformRoles;
  telemetry: ConsoleTelemetry;
}

/** Reads the rights of signed-in persons again from their provider, once for all requests and replicas. */
export class Rights {
  readonly #options: RightsOptions;
  readonly #flights = new SingleFlight<boolean>();
  #inBackground = 0;

  constructor(options: RightsOptions) {
    this.#options = options;
  }

  /** True if the rights of the session must be read again before they are used. */
  isDue(session: Pick<SessionRow, 'isRenewable' | 'rightsReadAt'>): boolean {
    return session.isRenewable && this.#age(session) >= FRESH_MS;
  }

  /** True if the rights of the session may be used although they could not be read again. */
  areUsable(session: Pick<SessionRow, 'isRenewable' | 'rightsReadAt'>): boolean {
    return !session.isRenewable || this.#age(session) < USABLE_MS;
  }

  /**
   * Reads the rights of a session again. Returns true if the stored rights are new, false if the last ones may still be
   * used. Throws NOT_SIGNED_IN if the person has withdrawn the grant, and the error of the provider if it does not
   * respond and the last rights are too old.
   */
  renew(tokenHash: Buffer, session: SessionRow): Promise<boolean> {
    return this.#flights.run(tokenHash.toString('base64'), () => this.#renew(tokenHash, session));
  }

  /**
   * Reads the rights of a session again in the background. At most MAX_BACKGROUND sessions are read at a time; a session
   * that is left out is read when it is used or checked the next time.
   */
  renewLater(tokenHash: Buffer, session: SessionRow): void {
    if (this.#inBackground >= MAX_BACKGROUND) return;
    this.#inBackground++;
    // Failures are logged where they occur.
    void this.renew(tokenHash, session)
      .catch(() => undefined)
      .finally(() => this.#inBackground--);
  }

  /** Returns rights in the form in which sessions store them. */
  toStored({ guilds, isOperator, credentials }: PlatformRights): StoredRights {
    const entries = guilds
      .slice(0, MAX_GUILDS)
      .map(({ guildId, name, role }) => [guildId, { name: name.slice(0, MAX_NAME_LENGTH), role }] as const);
    return {
      guilds: Object.fromEntries(entries),
      isOperator,
      credentials: credentials && this.#options.ring.encrypt(PURPOSE, credentials.toString('base64')),
    };
  }

  async #renew(tokenHash: Buffer, session: SessionRow): Promise<boolean> {
    const { database, roles, telemetry } = this.#options;
    const { rightsReadAt, provider } = session;
    const now = this.#now();
    const credentials = await store.claimReading(database, tokenHash, {
      rightsReadAt,
      failedBefore: new Date(now.getTime() - RETRY_MS),
      now,
      until: new Date(now.getTime() + READING_MS),
    });
    if (!credentials) return this.#awaitOther(tokenHash, session);
    const read = await this.#read(credentials, (opened) => roles.read(provider, opened)).catch(
      async (error: unknown) => {
        await store.storeFailure(database, tokenHash, this.#now());
        telemetry.rightsUnreadable(session.sessionId, provider, error);
        if (!this.areUsable(session)) throw asApiError(error);
        return 'failed' as const;
      },
    );
    if (read === 'failed') return false;
    if (!read) {
      await store.deleteByToken(database, tokenHash);
      telemetry.grantWithdrawn(session.sessionId, provider);
      throw new ApiError('NOT_SIGNED_IN');
    }
    await store.storeRights(database, tokenHash, this.toStored(read), this.#now());
    telemetry.rightsRead();
    return true;
  }

  /** Decrypts credentials. Credentials that no key decrypts any more are those of a withdrawn grant. */
  async #read(encrypted: Buffer, read: (credentials: Buffer) => Promise<PlatformRights | undefined>) {
    let opened: Buffer;
    try {
      opened = Buffer.from(this.#options.ring.decrypt(PURPOSE, encrypted), 'base64');
    } catch {
      return undefined;
    }
    return read(opened);
  }

  /** Waits while another process reads the rights, because some providers accept the same credentials only once. */
  async #awaitOther(tokenHash: Buffer, session: SessionRow): Promise<boolean> {
    const until = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const state = await store.selectReading(this.#options.database, tokenHash, this.#now());
      if (!state) throw new ApiError('NOT_SIGNED_IN');
      if (state.rightsReadAt > session.rightsReadAt) return true;
      if (!state.isReading || performance.now() >= until) break;
      await wait(POLL_MS);
    }
    if (this.areUsable(session)) return false;
    throw new ApiError('UNAVAILABLE', {
      message: 'Your roles cannot be read from the provider now, try again soon',
      retryAfter: RETRY_MS / 1000,
    });
  }

  #age({ rightsReadAt }: Pick<SessionRow, 'rightsReadAt'>): number {
    return this.#options.clock.now() - rightsReadAt.getTime();
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}
