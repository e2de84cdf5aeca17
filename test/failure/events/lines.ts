import type { EventType } from '#proto/rest/events/index.ts';

/** An event, as GET /events returns it. */
export interface ReadEvent {
  id: string;
  seq: number;
  type: EventType;
  // oxlint-disable-next-line typescript/no-explicit-any -- each type has its own data
  data: any;
}

/**
 * A change in words, the same whether a writer, an event or a table tells it: the type of its event, and what identifies
 * the change among those of its guild.
 */
export const lineOf = (type: EventType, ...identity: (string | number)[]) => [type, ...identity].join(' ');

type Identity = (data: ReadEvent['data']) => (string | number)[];

const link: Identity = ({ chat_id, game_id }) => [chat_id, game_id];
const id: Identity = (data) => [data.id];
const server: Identity = ({ server_id }) => [server_id];
const session: Identity = ({ session_id }) => [session_id];
const member: Identity = ({ chat_id }) => [chat_id];
const gameId: Identity = ({ game_id }) => [game_id];

/** The types that no writer causes: a difference of bans is only found by a comparison at night. */
type NotWritten = 'ban.drifted';

/** The fields that identify a change, for each type of event that the writers cause. */
const IDENTITIES: Record<Exclude<EventType, NotWritten>, Identity> = {
  'link.created': link,
  'link.removed': link,
  'ban.created': id,
  'ban.lifted': id,
  'ban.expired': id,
  'mute.created': id,
  'mute.lifted': id,
  'mute.expired': id,
  'shield.added': gameId,
  'shield.removed': gameId,
  'binding.created': id,
  'binding.updated': (data) => [data.id, data.priority, data.min_rank],
  'binding.removed': id,
  'roles.changed': member,
  'nickname.changed': ({ chat_id, to }) => [chat_id, to],
  'member.joined': member,
  'member.left': member,
  'member.roles_changed': ({ chat_id, added, removed }) => [chat_id, `+${added}`, `-${removed}`],
  'sync.job.finished': ({ job_id }) => [job_id],
  'session.started': session,
  'session.ended': session,
  'staff.action': id,
  'server.online': server,
  'server.offline': server,
  'command.finished': ({ command_id }) => [command_id],
  'key.created': id,
  'key.changed': id,
  'key.revoked': id,
  'key.expiring': id,
  'key.leaked': id,
  'webhook.disabled': id,
  'person.erased': gameId,
};

/** The types of events that the writers cause. */
export const WRITTEN_TYPES = Object.keys(IDENTITIES) as EventType[];

/** The line of an event. Throws for a type that no writer causes. */
export function lineOfEvent({ type, data }: ReadEvent): string {
  const identity = (IDENTITIES as Partial<Record<EventType, Identity>>)[type];
  if (!identity) throw new Error(`no writer causes ${type}`);
  return lineOf(type, ...identity(data));
}

/** Returns the items of `all` without those of `some`; an item that occurs twice is taken away once. */
export function without(all: readonly string[], some: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const item of some) counts.set(item, (counts.get(item) ?? 0) + 1);
  return all.filter((item) => {
    const left = counts.get(item) ?? 0;
    counts.set(item, left - 1);
    return left <= 0;
  });
}
