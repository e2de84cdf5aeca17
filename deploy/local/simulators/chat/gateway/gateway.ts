import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock, Limit, Windows } from '../../limits.ts';
import type { Call } from '../../routes.ts';
import { ok } from '../../routes.ts';
import type { ChatGuild, World } from '../../world.ts';
import type { GuildEvents } from '../events.ts';
import { tokenBot, viewChannels, viewGuild, viewUser } from '../guilds.ts';
import type { ChatRoute } from '../limits.ts';
import { viewMember } from '../member-view.ts';
import { Connection } from './connection.ts';
import { MAX_GUILDS_PER_SHARD, readIdentity } from './identify.ts';
import { Refused } from './refused.ts';
import { GUILDS, isOfShard, type Session } from './session.ts';
import { Sessions } from './sessions.ts';

type Limits = Record<'identify' | 'identify-daily' | 'gateway-send', Limit>;
type Options = { world: World; events: GuildEvents; clock: Clock; windows: Windows; limits: Limits };

/** The websocket of the chat platform: it reports what changes in the guilds of a shard. */
export class Gateway {
  readonly #options: Options;
  readonly #server = new WebSocketServer({ noServer: true, clientTracking: false });
  readonly #connections = new Set<Connection>();
  readonly sessions: Sessions;
  /** How many sessions were started and continued. */
  readonly counts = { identified: 0, resumed: 0 };

  constructor(options: Options) {
    this.#options = options;
    this.sessions = new Sessions(options.clock);
    options.events.listen((event) => this.sessions.report(event));
    // A replaced world changes without events, so what the clients know is out of date.
    options.world.onReplace(() => this.invalidateAll());
  }

  routes(): ChatRoute[] {
    const handle = (call: Call) => ok(this.#describe(call));
    return [{ method: 'GET', pattern: '/api/v10/gateway/bot', limit: 'gateway', handle }];
  }

  get connections(): Connection[] {
    return [...this.#connections];
  }

  /** Takes over the socket of an upgrade request. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (websocket) => this.#accept(websocket, request));
  }

  /** Ends all sessions; the clients have to identify again. */
  invalidateAll(): void {
    for (const session of this.sessions.list()) this.sessions.forget(session);
    for (const connection of this.#connections) {
      connection.session = undefined;
      connection.invalidate(false);
    }
  }

  stop(): void {
    for (const connection of this.#connections) connection.cut();
  }

  #accept(websocket: WebSocket, { url, headers }: IncomingMessage): void {
    const { windows, limits } = this.#options;
    const { searchParams } = new URL(`http://localhost${url}`);
    if (searchParams.get('v') !== '10') return websocket.close(new Refused('invalidVersion').code);
    if (searchParams.get('encoding') !== 'json' || searchParams.has('compress'))
      return websocket.close(new Refused('decodeError').code, 'Only JSON without compression is simulated');
    const id = headers['sec-websocket-key'];
    const interval = this.#options.world.data.chat.gateway.heartbeat_interval_ms;
    const connection = new Connection(websocket, interval, {
      identify: (data, own) => this.#identify(data, own, headers.host ?? ''),
      resume: (data, own) => this.#resume(data, own),
      closed: (own, isOver) => this.#closed(own, isOver),
      admitPayload: () => windows.take(`gateway-send ${id}`, limits['gateway-send']).allowed,
    });
    this.#connections.add(connection);
  }

  #identify(data: Record<string, unknown>, connection: Connection, host: string): Session | undefined {
    const { world, windows, limits } = this.#options;
    const { shard, intents } = readIdentity(world, data);
    if (
      !windows.take('identify', limits.identify).allowed ||
      !windows.take('identify-daily', limits['identify-daily']).allowed
    ) {
      connection.invalidate(false);
      return undefined;
    }
    this.counts.identified += 1;
    const session = this.sessions.create(shard, intents);
    session.receiver = connection;
    const guilds = [...world.guilds.values()].filter((guild) => isOfShard(guild.data.id, shard));
    session.dispatch('READY', this.#ready(session, guilds, host));
    if (intents & GUILDS) for (const guild of guilds) session.dispatch('GUILD_CREATE', viewCreatedGuild(guild));
    return session;
  }

  #resume(data: Record<string, unknown>, connection: Connection): Session | undefined {
    const { session_id: id, seq } = data;
    const session = this.sessions.find(String(id));
    if (session && (!Number.isInteger(seq) || Number(seq) > session.seq)) throw new Refused('invalidSeq');
    const missed = session?.after(Number(seq));
    if (!session || !missed) {
      connection.invalidate(false);
      return undefined;
    }
    session.receiver?.cut();
    session.receiver = connection;
    session.detachedAt = undefined;
    this.counts.resumed += 1;
    for (const event of missed) connection.send(event);
    session.dispatch('RESUMED', {});
    return session;
  }

  #closed(connection: Connection, isOver: boolean): void {
    this.#connections.delete(connection);
    const { session } = connection;
    // A session that was resumed elsewhere does not belong to this connection any more.
    if (session?.receiver !== connection) return;
    if (isOver) this.sessions.forget(session);
    else this.sessions.detach(session);
  }

  #describe({ headers }: Call) {
    const { world, windows, limits } = this.#options;
    const daily = windows.peek('identify-daily', limits['identify-daily']);
    return {
      url: `ws://${headers.host}/gateway`,
      shards: Math.max(1, Math.ceil(world.guilds.size / MAX_GUILDS_PER_SHARD)),
      session_start_limit: {
        total: limits['identify-daily'].count,
        remaining: daily.remaining,
        reset_after: daily.resetMs,
        max_concurrency: limits.identify.count,
      },
    };
  }

  #ready(session: Session, guilds: ChatGuild[], host: string) {
    const { world } = this.#options;
    return {
      v: 10,
      user: viewUser({ ...tokenBot(world), global_name: null }, true),
      guilds: guilds.map(({ data }) => ({ id: data.id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: `ws://${host}/gateway`,
      shard: session.shard,
      application: { id: world.data.chat.oauth_client.client_id, flags: 0 },
    };
  }
}

/** A guild as it becomes available: with its roles and channels. Of its members only the bot is listed. */
function viewCreatedGuild(guild: ChatGuild) {
  const { data, sorted, members } = guild;
  const bot = members.get(data.bot.id);
  return {
    ...viewGuild(guild),
    unavailable: false,
    large: false,
    member_count: sorted.length,
    channels: viewChannels(guild),
    members: bot ? [viewMember(guild, bot)] : [],
    threads: [],
    presences: [],
    voice_states: [],
  };
}
