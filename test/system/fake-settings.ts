import { pino } from 'pino';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { GrpcServer } from '#kit/grpc/server.ts';
import { Readiness } from '#kit/service/readiness.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { type GuildSettings, GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import { allowedCallers, TEST_SECRETS } from './keys.ts';

/** The settings of a guild that has changed none. */
const DEFAULTS: GuildSettings = {
  syncOnLink: true,
  syncOnJoin: false,
  syncOnRankChange: false,
  mirrorBansUniverseIds: [],
  mirrorBansExcludeAlts: false,
  mirrorTimeouts: false,
  pushCommands: false,
  oauthJoin: false,
  version: 0,
};

/** A fake members service that has nothing but the settings of guilds. */
export class FakeSettings {
  /** The settings of every guild. */
  settings: GuildSettings;
  /** True if every call fails. */
  isDown = false;
  /** The number of calls. */
  calls = 0;
  readonly #server: GrpcServer;

  /** `caller` is the service that reads the settings. */
  constructor(caller: string, clock: Clock, settings: Partial<GuildSettings> = {}) {
    this.settings = { ...DEFAULTS, ...settings };
    const parts = { clock, metrics: new Metrics(), log: pino({ level: 'silent' }), readiness: new Readiness() };
    this.#server = new GrpcServer({ service: 'members', host: '127.0.0.1', port: 0, reflection: false, ...parts });
    const getGuildSettings = async () => {
      this.calls++;
      if (this.isDown) throw new ApiError('UNAVAILABLE');
      return { settings: this.settings };
    };
    const methods = {
      getGuildSettings,
      listMirroringGuilds: async () => ({ guilds: [] }),
      listTimeoutGuilds: async () => ({ guildIds: [] }),
    };
    this.#server.add(GuildSettingsServiceService, methods, allowedCallers(TEST_SECRETS, caller));
  }

  get address(): string {
    return this.#server.address;
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }
}
