import type { Clock } from '#kit/clock.ts';
import { counted, failed, type GuildCheck, listed, passed } from '#kit/guild-state/check.ts';
import { exactly, type GuildCount, MAX_COUNTED, upToLimit } from '#kit/guild-state/count.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import * as store from '../store/guild-state.ts';
import { listStaffRoles } from '../store/staff-roles.ts';

const MINUTE_MS = 60_000;

/** Counts and checks the game servers and the staff of a guild. */
export class GuildState {
  readonly #database: Queryable;
  readonly #clock: Clock;

  constructor(database: Queryable, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  counts = async (guildId: string): Promise<GuildCount[]> => {
    const now = this.#now();
    // One after the other: a call occupies one connection of the pool.
    const live = await store.countLive(this.#database, guildId, MAX_COUNTED + 1, now);
    const sessions = await store.countOpenSessions(this.#database, guildId, MAX_COUNTED + 1, now);
    return [
      upToLimit('live_servers', live.servers),
      { ...exactly('players', live.players), isMinimum: live.servers > MAX_COUNTED },
      upToLimit('open_staff_sessions', sessions),
    ];
  };

  checks = async (guildId: string): Promise<GuildCheck[]> => {
    const now = this.#now();
    const versions = await store.listPluginVersions(this.#database, guildId, MAX_COUNTED, now);
    const live = versions.reduce((total, { servers }) => total + servers, 0);
    const staffRoles = await listStaffRoles(this.#database, guildId);
    return [
      staffRoleCheck(staffRoles.length),
      live > 0
        ? passed('servers_report', `${counted(live, 'game server')} ${live === 1 ? 'is' : 'are'} live.`)
        : await this.#noLiveServer(guildId, now),
      ...(live > 0 ? [versionCheck(versions)] : []),
    ];
  };

  async #noLiveServer(guildId: string, now: Date): Promise<GuildCheck> {
    const { heartbeatAt, hasGame } = await store.findEarlierServers(this.#database, guildId, MAX_COUNTED);
    const advice = 'Nothing has to be done if nobody is playing. Otherwise look at the log of the game for errors.';
    if (heartbeatAt) {
      const minutes = Math.max(0, Math.floor((now.getTime() - heartbeatAt.getTime()) / MINUTE_MS));
      const message = `No game server is live; the last heartbeat was ${counted(minutes, 'minute')} ago.`;
      return passed('servers_report', message, advice);
    }
    if (hasGame) {
      return passed('servers_report', 'No game server is live, and none was in the last hour.', advice);
    }
    return failed(
      'servers_report',
      'No game server has ever sent a heartbeat.',
      'Install the plugin in the game with a key of this guild, publish the game and join it.',
    );
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }
}

function staffRoleCheck(roles: number): GuildCheck {
  if (roles > 0) {
    return passed(
      'staff_roles',
      `${counted(roles, 'role')} give${roles === 1 ? 's' : ''} staff permissions in the game.`,
    );
  }
  const advice = 'If members of the staff should have permissions in the game, add their roles as staff roles.';
  return passed('staff_roles', 'No role gives staff permissions in the game.', advice);
}

function versionCheck(versions: readonly store.PluginVersion[]): GuildCheck {
  const [main, ...others] = versions.map(({ version }) => version ?? 'an unknown version');
  if (others.length === 0) return passed('plugin_versions', `All live game servers run ${main} of the plugin.`);
  const shares = versions.map(({ version, servers }) => {
    return `${version ?? 'an unknown version'} (${counted(servers, 'server')})`;
  });
  return failed(
    'plugin_versions',
    `Live game servers run different versions of the plugin: ${listed(shares)}.`,
    'Install the newest version in every place of the game, publish all of them, and restart the servers that run an older one.',
  );
}
