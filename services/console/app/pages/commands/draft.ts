import type { GameServer, SendCommandArgs } from '#clients/typescript/src/operations-types.ts';
import { commandsTexts as texts } from '../../texts.ts';

/** The types of commands that persons send. Bans and mutes send theirs by themselves. */
export const SENDABLE = ['broadcast', 'message', 'kick', 'shutdown', 'custom'] as const;
export type Sendable = (typeof SENDABLE)[number];

/** What the form holds: everything as text. */
export interface Draft {
  type: Sendable;
  /** `all`, `place:<id>` or `server:<id>`. */
  where: string;
  text: string;
  player: string;
  reason: string;
  delay: string;
  payload: string;
}

export const EMPTY_DRAFT: Draft = {
  type: 'broadcast',
  where: 'all',
  text: '',
  player: '',
  reason: '',
  delay: '30',
  payload: '{}',
};

export type Faults = Partial<Record<keyof Draft, string>>;

/** What is wrong with a draft, by field. */
export function faultsOf(draft: Draft): Faults {
  const { type } = draft;
  const hasText = type === 'broadcast' || type === 'message';
  const hasPlayer = type === 'message' || type === 'kick';
  return {
    ...(hasText && draft.text.trim() === '' && { text: texts.textFault }),
    ...(hasPlayer && !/^[1-9][0-9]{0,15}$/.test(draft.player) && { player: texts.playerFault }),
    ...(type === 'custom' && !objectOf(draft.payload) && { payload: texts.payloadFault }),
  };
}

/** The arguments of `sendCommand` for a draft without faults. */
export function commandOf(draft: Draft): SendCommandArgs {
  const { type, text, player, reason, delay, payload } = draft;
  const place = targetOf(draft.where);
  const target = { game_id: Number(player) };
  const optionalReason = reason.trim() === '' ? {} : { reason: reason.trim() };
  switch (type) {
    case 'broadcast':
      return { ...place, type, payload: { text: text.trim() } };
    case 'message':
      return { ...place, type, target, payload: { text: text.trim() } };
    case 'kick':
      return { ...place, type, target, payload: optionalReason };
    case 'shutdown':
      return { ...place, type, payload: { ...optionalReason, delay_seconds: Math.max(0, Number(delay) || 0) } };
    default:
      return { ...place, type, payload: objectOf(payload) ?? {} };
  }
}

function targetOf(where: string): { all: true } | { place_id: number } | { server_id: string } {
  const [kind, ...rest] = where.split(':');
  const id = rest.join(':');
  if (kind === 'place') return { place_id: Number(id) };
  return kind === 'server' ? { server_id: id } : { all: true };
}

function objectOf(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The number of live servers by place. */
export function placesOf(servers: readonly GameServer[]): { id: number; count: number }[] {
  const groups = Map.groupBy(servers, ({ place_id }) => place_id);
  return [...groups].map(([id, group]) => ({ id, count: group.length }));
}
