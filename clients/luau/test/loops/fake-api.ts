import { randomUUID } from 'node:crypto';
import type { HttpRequest, HttpResponse } from '../engine/http.ts';
import { bodyFaults } from './body-faults.ts';
import { type Decision, FakeLimits } from './fake-limits.ts';

export const GUILD = '900000000000000001';
export const KEY = `service_${GUILD}_0123456789abcdefghijABCDEFGHIJ01234567`;

// oxlint-disable-next-line typescript/no-explicit-any -- bodies differ by route
type Body = any;

export interface FakeCommand {
  command_id: string;
  type: string;
  target: { game_id: number; game_username: string | null } | null;
  payload: Record<string, unknown>;
  leasedUntil: number;
  attempt: number;
  acked: { status: string; result: unknown; error: unknown } | undefined;
}

export interface FakeBan {
  id: number;
  game_id: number;
  reason: string;
  expires_at: number | null;
  place_id: number | null;
  changedAt: number;
  liftedAt?: number;
}

export interface Call {
  at: number;
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string>;
  body: Body;
}

class Rejected extends Error {
  readonly status: number;
  readonly details: object;

  constructor(status: number, details: object) {
    super('rejected');
    this.status = status;
    this.details = details;
  }
}

/**
 * The part of the API that the loops use, in simulated time: polls are answered at once, leases and intervals are as
 * the activity service has them, and bodies are validated as the services do it. What the real services do is tested in `system.test.ts`.
 */
export class FakeApi {
  readonly calls: Call[] = [];
  readonly commands: FakeCommand[] = [];
  readonly bans: FakeBan[] = [];
  readonly actions = new Map<string, Body>();
  readonly linked = new Map<number, Body>();
  readonly sessions = new Map<string, { game_id: number; ended?: string; idle?: number }>();
  interval = 15;
  pageSize = 100;
  /** Responds in place of a route: a status, with `Retry-After` for 429 and 503. */
  fail: (call: Call) => { status: number; details?: object; retryAfter?: number } | undefined = () => undefined;
  /** Counts requests, and rejects those above the limits. */
  readonly limits = new FakeLimits();
  /** The part of each limit that responses report as left, if other servers are to have used the rest. */
  left: number | undefined;
  /** The topic that heartbeats return. */
  wakeUpTopic: string | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  readonly transport = async (request: HttpRequest): Promise<HttpResponse> => {
    const url = new URL(request.url);
    const path = url.pathname.replace('/api/v1', '');
    const text = request.body === undefined ? undefined : JSON.parse(String(request.body));
    const { method } = request;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const call = { at: this.#now(), method, path, query: url.searchParams, headers, body: text };
    this.calls.push(call);
    const limited = this.limits.count(call);
    if (limited && limited.remaining < 0) {
      const details = { ...limited, code: 'RATE_LIMITED', window: 60, retryAfter: limited.secondsLeft };
      return this.#response(429, { status: 'error', details }, { retryAfter: limited.secondsLeft, limited });
    }
    const failure = this.fail(call);
    if (failure) {
      const body = { status: 'error', details: failure.details ?? {} };
      return this.#response(failure.status, body, { ...failure, limited });
    }
    const faults = bodyFaults(method, path, text);
    if (faults.length > 0) {
      const details = { code: 'INVALID_REQUEST', faults };
      return this.#response(400, { status: 'error', message: JSON.stringify(faults), details }, { limited });
    }
    try {
      return this.#response(200, { status: 'success', data: this.#answer(call) }, { limited });
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      return this.#response(error.status, { status: 'error', details: error.details });
    }
  };

  callsOf(path: string | RegExp): Call[] {
    return this.calls.filter((call) => (typeof path === 'string' ? call.path === path : path.test(call.path)));
  }

  send(type: string, fields: Partial<FakeCommand> = {}): FakeCommand {
    const command = {
      command_id: randomUUID(),
      type,
      target: null,
      payload: {},
      leasedUntil: 0,
      attempt: 0,
      acked: undefined,
      ...fields,
    };
    this.commands.push(command);
    return command;
  }

  ban(gameId: number, fields: Partial<FakeBan> = {}): FakeBan {
    const changedAt = this.#now();
    const id = this.bans.length + 1;
    const ban = { id, game_id: gameId, reason: 'spam', expires_at: null, place_id: null, changedAt, ...fields };
    this.bans.push(ban);
    return ban;
  }

  lift(ban: FakeBan): void {
    ban.liftedAt = this.#now();
    ban.changedAt = ban.liftedAt;
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1000);
  }

  #response(
    status: number,
    body: object,
    { retryAfter, limited }: { retryAfter?: number; limited?: Decision | undefined } = {},
  ): HttpResponse {
    const { limit, remaining } = limited ?? { limit: 100, remaining: 100 };
    const left = this.left === undefined ? Math.max(remaining, 0) : Math.floor(limit * this.left);
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'x-request-id': randomUUID(),
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(left),
      'x-ratelimit-reset': String((Math.floor(this.#seconds() / 60) + 1) * 60),
    };
    if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
    return { status, message: '', headers, body: JSON.stringify({ code: status, message: 'message', ...body }) };
  }

  #answer({ path, method, query, body }: Call): object {
    const [, id = ''] = /^\/game\/servers\/[^/]+\/commands\/([^/]+)\/ack$/.exec(path) ?? [];
    if (id !== '') return this.#ack({ command_id: id, ...body });
    if (path === '/game/servers/heartbeat') return this.#heartbeat(body);
    const [, server] = /^\/game\/servers\/([^/]+)\/commands$/.exec(path) ?? [];
    if (server !== undefined) return { commands: this.#lease(30), poll_after_seconds: this.interval };
    if (path.endsWith('/game/status')) return { results: this.#statuses(body.game_ids) };
    if (path.endsWith('/game/bans/active')) return this.#listBans(query);
    if (path === '/staff/game/action') return this.#log(body);
    if (path === '/staff/game/session/start') return this.#startSession(body);
    if (path === '/staff/game/session/end') return this.#endSession(body);
    if (path === '/staff/game/heartbeat') return this.#beatSessions(body);
    if (path === '/lookup/status') {
      return { results: Object.fromEntries(body.game_ids.map((of: number) => [of, this.linked.get(of) ?? null])) };
    }
    if (path === '/verification/redeem') return this.#redeem(body);
    throw new Rejected(404, { code: 'ROUTE_NOT_FOUND', path, method });
  }

  #heartbeat(body: Body): object {
    for (const ack of body.acks) if (this.#find(ack.command_id)) this.#ack(ack);
    const commands = body.final ? [] : this.#lease(Math.max(30, 2 * this.interval));
    const wake_up_topic = this.wakeUpTopic;
    return { server_time: this.#seconds(), next_heartbeat_seconds: this.interval, commands, wake_up_topic };
  }

  #find(id: string): FakeCommand | undefined {
    return this.commands.find(({ command_id }) => command_id === id);
  }

  #ack({ command_id, status, result, error }: Body): object {
    const command = this.#find(command_id);
    if (!command) throw new Rejected(404, { code: 'NOT_FOUND' });
    command.acked ??= { status, result, error };
    return { command_id, status, acked_at: this.#seconds() };
  }

  #lease(seconds: number): object[] {
    const now = this.#seconds();
    const due = this.commands.filter(({ acked, leasedUntil }) => !acked && leasedUntil <= now);
    return due.map((command) => {
      command.leasedUntil = now + seconds;
      command.attempt++;
      const { command_id, type, target, payload, attempt, leasedUntil } = command;
      const times = { created_at: now, expires_at: now + 3600, lease_expires_at: leasedUntil };
      return { command_id, type, target, payload, issued_by: null, attempt, ...times };
    });
  }

  #statuses(ids: number[]): object {
    const statusOf = (id: number) => {
      const ban = this.bans.find(({ game_id, liftedAt }) => game_id === id && liftedAt === undefined);
      return { banned: ban !== undefined, ban_info: ban ?? null, muted: false, mute_info: null, flagged: false };
    };
    return Object.fromEntries(ids.map((id) => [id, statusOf(id)]));
  }

  #listBans(query: URLSearchParams): object {
    const since = query.get('updated_since');
    const from = Number(query.get('cursor') ?? 0);
    const rows = this.bans.filter((ban) =>
      since === null ? ban.liftedAt === undefined : ban.changedAt / 1000 >= Number(since),
    );
    const page = rows.slice(from, from + this.pageSize);
    const next = from + this.pageSize < rows.length ? String(from + this.pageSize) : null;
    const bans = page.filter(({ liftedAt }) => liftedAt === undefined);
    const lifted = page.filter(({ liftedAt }) => liftedAt !== undefined);
    return { bans, ...(since !== null && { lifted }), server_time: this.#seconds() - 1, next_cursor: next };
  }

  #log(body: Body): object {
    if (!this.actions.has(body.action_id)) this.actions.set(body.action_id, body);
    return { id: body.action_id };
  }

  #startSession({ game_id }: Body): object {
    const open = [...this.sessions].find(([, session]) => session.game_id === game_id && !session.ended);
    const id = open?.[0] ?? randomUUID();
    this.sessions.set(id, { game_id });
    return { session_id: id, started_at: this.#seconds(), resumed: open !== undefined };
  }

  #endSession({ session_id, reason }: Body): object {
    const session = this.sessions.get(session_id);
    if (!session) throw new Rejected(404, { code: 'NOT_FOUND' });
    session.ended = reason;
    return { session_id };
  }

  #beatSessions({ sessions }: Body): object {
    const ids = sessions.map(({ session_id }: Body) => session_id);
    for (const { session_id, idle_seconds } of sessions) {
      const session = this.sessions.get(session_id);
      if (session) session.idle = idle_seconds;
    }
    const isOpen = (id: string) => this.sessions.get(id)?.ended === undefined && this.sessions.has(id);
    return { active: ids.filter(isOpen), stale: ids.filter((id: string) => !isOpen(id)) };
  }

  #redeem({ code, game_id, game_username }: Body): object {
    if (code !== 'H7KM4PRX') throw new Rejected(404, { code: 'NOT_FOUND' });
    const link = { chat_id: '920000000000000005', game_id, game_username, verified: true };
    this.linked.set(game_id, link);
    return link;
  }
}
