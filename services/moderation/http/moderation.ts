import { type Clock, unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { HttpHandlers } from '#kit/http/app.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import type { moderationRoutes } from '#proto/rest/moderation.ts';
import type { Decisions } from '../domain/decisions.ts';
import type { Lists, PunishmentPage } from '../domain/lists.ts';
import type { Decider, Kind, NewLift, NewPunishment } from '../domain/punishment.ts';
import type { Standings } from '../domain/standings.ts';
import {
  banInfoView,
  liftedChangeView,
  liftedPunishmentView,
  logView,
  muteInfoView,
  punishmentView,
  shieldView,
} from './views.ts';

type Handlers = HttpHandlers<typeof moderationRoutes>;
type Request<Name extends keyof Handlers> = Parameters<Handlers[Name]>[0];

export interface HandlerOptions {
  standings: Standings;
  decisions: Decisions;
  lists: Lists;
  clock: Clock;
}

/** The handlers of the REST routes in proto/rest/moderation.ts. */
export function moderationHandlers(options: HandlerOptions): Handlers {
  return { ...statusHandlers(options), ...decisionHandlers(options), ...listHandlers(options) };
}

function statusHandlers({ standings, clock }: HandlerOptions) {
  /** Returns the player's ban or mute that is in force; undefined if there is none. */
  const check = async ({ guildId, params, query }: Request<'getBanStatus' | 'getMuteStatus'>, kind: Kind) => {
    const gameId = params.identifier;
    const place = { placeId: query.place_id ?? null, noCache: query.no_cache === 'true' };
    const found = await standings.find({ guildId, gameIds: [gameId], ...place });
    return found.get(gameId)?.punishment(kind, clock.now());
  };
  return {
    async getBanStatus(request) {
      const ban = await check(request, 'ban');
      return ok(ban ? { banned: true, ban_info: banInfoView(ban) } : { banned: false });
    },
    async getMuteStatus(request) {
      const mute = await check(request, 'mute');
      return ok(mute ? { muted: true, mute_info: muteInfoView(mute) } : { muted: false });
    },
    async getGameStatuses({ guildId, body }) {
      const found = await standings.find({ guildId, gameIds: body.game_ids, placeId: body.place_id ?? null });
      const now = clock.now();
      const results = [...found].map(([gameId, standing]) => {
        const [ban, mute] = [standing.punishment('ban', now), standing.punishment('mute', now)];
        const view = {
          banned: ban !== undefined,
          ban_info: ban ? banInfoView(ban) : null,
          muted: mute !== undefined,
          mute_info: mute ? muteInfoView(mute) : null,
          flagged: standing.entry(now) !== undefined,
        };
        return [gameId, view] as const;
      });
      return ok({ results: Object.fromEntries(results) });
    },
    async checkShield({ guildId, params }) {
      const found = await standings.find({ guildId, gameIds: [params.gameId], placeId: null });
      const entry = found.get(params.gameId)?.entry(clock.now());
      return ok({ flagged: entry !== undefined, entry: entry ? shieldView(entry) : null });
    },
    async checkShieldBatch({ guildId, body }) {
      const found = await standings.find({ guildId, gameIds: body.game_ids, placeId: null });
      const results = [...found].map(([gameId, standing]) => {
        const entry = standing.entry(clock.now());
        return [gameId, entry ? shieldView(entry) : null] as const;
      });
      return ok({ results: Object.fromEntries(results) });
    },
  } satisfies Partial<Handlers>;
}

function decisionHandlers({ decisions }: HandlerOptions) {
  const punish = async ({ write, body, ignoredFields }: Request<'banPlayer'>, kind: Kind) =>
    decisions.punish(write, punishmentOf(body, kind), body.replace ?? false, (created) => ({
      ...punishmentView(created),
      ...(ignoredFields.length > 0 && { ignored_fields: [...ignoredFields] }),
    }));
  const lift = async ({ write, body }: Request<'unbanPlayer'>, kind: Kind) =>
    decisions.lift(write, liftOf(body, kind), liftedPunishmentView);
  return {
    banPlayer: (request) => punish(request, 'ban'),
    mutePlayer: (request) => punish(request, 'mute'),
    unbanPlayer: (request) => lift(request, 'ban'),
    unmutePlayer: (request) => lift(request, 'mute'),
  } satisfies Partial<Handlers>;
}

function listHandlers({ lists }: HandlerOptions) {
  const list = async (
    { guildId, query }: Request<'listActiveBans' | 'listActiveMutes'>,
    kind: Kind,
  ): Promise<[PunishmentPage, { next_cursor: string | null; server_time: number; lifted?: LiftedViews }]> => {
    const { limit, cursor, place_id: placeId, game_id: gameId, updated_since: since } = query;
    const scope = { route: `active ${kind}`, guildId, filters: { placeId, gameId, since } };
    const listQuery = { guildId, kind, placeId, gameId, limit, position: positionIn(scope, cursor) };
    const page = since === undefined ? await lists.active(listQuery) : await lists.changed(listQuery, since * 1000);
    const rest = { server_time: unixSeconds(page.serverTime), next_cursor: cursorOf(scope, page.next) };
    return [page, page.lifted ? { ...rest, lifted: page.lifted.map(liftedChangeView) } : rest];
  };
  return {
    async listActiveBans(request) {
      const [{ punishments }, rest] = await list(request, 'ban');
      return ok({ bans: punishments.map(punishmentView), ...rest });
    },
    async listActiveMutes(request) {
      const [{ punishments }, rest] = await list(request, 'mute');
      return ok({ mutes: punishments.map(punishmentView), ...rest });
    },
    async listModerationLogs({ guildId, query }) {
      const { limit, cursor, game_id: gameId, moderator_game_id: moderatorGameId, action, from, to } = query;
      const filters = { gameId, moderatorGameId, action, from, to };
      const scope = { route: 'log', guildId, filters };
      const { entries, next } = await lists.log(guildId, filters, { limit, position: positionIn(scope, cursor) });
      return ok({ logs: entries.map(logView), next_cursor: cursorOf(scope, next) });
    },
  } satisfies Partial<Handlers>;
}

type LiftedViews = ReturnType<typeof liftedChangeView>[];

const positionIn = (scope: CursorScope, cursor: string | undefined) =>
  cursor === undefined ? undefined : decodeCursor(scope, cursor);
const cursorOf = (scope: CursorScope, position: string | undefined) =>
  position === undefined ? null : encodeCursor(scope, position);

function punishmentOf(body: Request<'banPlayer'>['body'], kind: Kind): NewPunishment {
  const { game_id: gameId, game_username: gameUsername, reason, duration, place_id: placeId } = body;
  return {
    kind,
    gameId,
    gameUsername: gameUsername ?? null,
    reason,
    placeId: placeId ?? null,
    durationSeconds: duration ?? null,
    ...deciderOf(body),
  };
}

function liftOf(body: Request<'unbanPlayer'>['body'], kind: Kind): NewLift {
  const { game_id: gameId, reason, scope, place_id: placeId } = body;
  const place = scope === undefined ? undefined : (placeId ?? null);
  return { kind, gameId, reason: reason ?? null, placeId: place, ...deciderOf(body) };
}

type DeciderFields = Pick<
  Request<'unbanPlayer'>['body'],
  'moderator_game_id' | 'moderator_chat_id' | 'source_server_id'
>;

function deciderOf(body: DeciderFields): Decider {
  const {
    moderator_game_id: moderatorGameId,
    moderator_chat_id: moderatorChatId,
    source_server_id: sourceServerId,
  } = body;
  if (sourceServerId === '') {
    throw new ApiError('NOT_APPLICABLE', { message: 'source_server_id is empty: the game runs outside of a server' });
  }
  return {
    moderatorGameId: moderatorGameId ?? null,
    moderatorChatId: moderatorChatId ?? null,
    sourceServerId: sourceServerId ?? null,
  };
}
