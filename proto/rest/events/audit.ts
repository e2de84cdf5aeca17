import type { EventType } from './index.ts';

/** The fields of an entry's data that name persons, as in the table of event types. */
interface Persons {
  chat?: readonly string[];
  game?: readonly string[];
}

/**
 * Changes that are in the audit but not in the log of events, because no system of a guild has to react to them. Their
 * names must not be those of event types.
 */
export const AUDIT_ONLY_TYPES = {
  'command.sent': { game: ['target_game_id', 'payload.moderator_game_id'], chat: ['payload.moderator_chat_id'] },
  'command.cancelled': {},
  'sync.requested': {},
  'settings.updated': {},
  'invite.created': { chat: ['chat_id'] },
  'webhook.created': {},
  'webhook.updated': {},
  'webhook.deleted': {},
  'webhook.rotated': {},
  'webhook.replayed': {},
} as const satisfies Record<string, Persons>;

export type AuditOnlyType = keyof typeof AUDIT_ONLY_TYPES;

export const isAuditOnly = (type: string): type is AuditOnlyType => Object.hasOwn(AUDIT_ONLY_TYPES, type);

/** The changes that are in the audit if an API key caused them. Those of game servers would fill the audit. */
const AUDITED_OF_KEYS: readonly string[] = [
  'link.created',
  'link.removed',
  'ban.created',
  'ban.lifted',
  'mute.created',
  'mute.lifted',
  'shield.added',
  'shield.removed',
  'binding.created',
  'binding.updated',
  'binding.removed',
  'settings.updated',
  'invite.created',
  'command.sent',
  'command.cancelled',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.rotated',
  'webhook.replayed',
] satisfies (EventType | AuditOnlyType)[];

/**
 * The events that are in the audit in no case: auth itself writes entries about keys and erasures, and the others follow
 * from a change that has an entry, or from the passing of time.
 */
const NEVER_AUDITED: readonly string[] = [
  'ban.expired',
  'ban.drifted',
  'mute.expired',
  'command.finished',
  'sync.job.finished',
  'member.joined',
  'member.left',
  'member.roles_changed',
  'server.online',
  'server.offline',
  'key.created',
  'key.changed',
  'key.revoked',
  'key.leaked',
  'key.expiring',
  'webhook.disabled',
  'person.erased',
] satisfies EventType[];

/**
 * True if a change belongs into the audit: all that a person in the console requested, and what API keys change except
 * through game servers. Events of a person without a request ID are the results of a job that has an entry.
 */
export function isAudited(type: string, source: { kind: string; requestId?: string | undefined }): boolean {
  if (source.kind === 'console') return source.requestId !== undefined && !NEVER_AUDITED.includes(type);
  return source.kind === 'api_key' && AUDITED_OF_KEYS.includes(type);
}
