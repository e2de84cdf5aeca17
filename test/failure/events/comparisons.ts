import type { ChatGuild } from '#local/simulators/world.ts';
import type { EventType } from '#proto/rest/events/index.ts';
import { databaseRows } from '../../postgres/database.ts';
import { lineOfEvent, type ReadEvent } from './lines.ts';
import { isNewMember } from './platform-turns.ts';

/** How the changes that the owner of some data has stored are compared with the events that report them. */
interface Comparison {
  types: readonly EventType[];
  /** What the events tell: by default a line of each. */
  told?: (events: readonly ReadEvent[]) => string[];
  /** SQL that selects the same lines of guild $1 from the tables of the owner. */
  stored: string;
}

/** Replays events that put an item into a list or take it out; returns the lines of the items that are left. */
function left(
  events: readonly ReadEvent[],
  keyOf: (event: ReadEvent) => string | number,
  lineOf: (event: ReadEvent) => string,
  isPut: (event: ReadEvent) => boolean,
): string[] {
  const items = new Map<string | number, string>();
  for (const event of events) {
    if (isPut(event)) items.set(keyOf(event), lineOf(event));
    else items.delete(keyOf(event));
  }
  return [...items.values()];
}

const bindingLine = ({ data }: ReadEvent) =>
  ['binding', data.id, data.chat_role_id, data.min_rank, data.max_rank, data.priority ?? ''].join(' ');

/** The servers that are online after these events. Two equal events of a server without one between them count twice. */
function onlineServers(events: readonly ReadEvent[]): string[] {
  const online = new Set<string>();
  const repeated: string[] = [];
  for (const { type, data } of events) {
    const isOnline = type === 'server.online';
    if (online.has(data.server_id) === isOnline) repeated.push(`${type} ${data.server_id} is repeated`);
    if (isOnline) online.add(data.server_id);
    else online.delete(data.server_id);
  }
  return [...[...online].map((server) => `online ${server}`), ...repeated];
}

/** Each change has exactly one event, and each event has its change. */
const EXACT: readonly Comparison[] = [
  {
    types: ['link.created', 'link.removed'],
    stored: `SELECT CASE action WHEN 'linked' THEN 'link.created' ELSE 'link.removed' END || ' ' || chat_id || ' ' || game_id
      FROM lookup.link_history WHERE guild_id = $1`,
  },
  {
    types: ['ban.created', 'ban.lifted', 'mute.created', 'mute.lifted'],
    stored: `SELECT CASE action WHEN 'ban' THEN 'ban.created' WHEN 'mute' THEN 'mute.created'
        WHEN 'unban' THEN 'ban.lifted' ELSE 'mute.lifted' END || ' ' || punishment_id
      FROM moderation.log WHERE guild_id = $1`,
  },
  {
    types: ['ban.expired', 'mute.expired'],
    stored: `SELECT kind || '.expired ' || id FROM moderation.punishments
      WHERE guild_id = $1 AND expires_at <= clock_timestamp() AND NOT EXISTS (
        SELECT FROM moderation.log WHERE log.guild_id = $1 AND punishment_id = punishments.id AND action LIKE 'un%')`,
  },
  {
    types: ['shield.added', 'shield.removed'],
    told: (events) =>
      left(
        events,
        ({ data }) => data.game_id,
        ({ data }) => `flag ${data.game_id} ${data.reason}`,
        ({ type }) => type === 'shield.added',
      ),
    stored: `SELECT 'flag ' || game_id || ' ' || reason FROM moderation.shield
      WHERE guild_id = $1 AND expires_at > clock_timestamp()`,
  },
  {
    types: ['binding.created', 'binding.updated', 'binding.removed'],
    told: (events) =>
      left(
        events,
        ({ data }) => data.id,
        bindingLine,
        ({ type }) => type !== 'binding.removed',
      ),
    stored: `SELECT concat_ws(' ', 'binding', id, chat_role_id, min_rank, max_rank, coalesce(priority::text, ''))
      FROM bindings.bindings WHERE guild_id = $1`,
  },
  {
    types: ['sync.job.finished'],
    stored: `SELECT 'sync.job.finished ' || id FROM members.sync_jobs WHERE guild_id = $1 AND finished_at IS NOT NULL`,
  },
  {
    types: ['session.started', 'session.ended'],
    stored: `SELECT 'session.started ' || session_id FROM activity.sessions WHERE guild_id = $1 UNION ALL
      SELECT 'session.ended ' || session_id FROM activity.sessions WHERE guild_id = $1 AND ended_at IS NOT NULL`,
  },
  {
    types: ['staff.action'],
    stored: `SELECT 'staff.action ' || action_id FROM activity.actions WHERE guild_id = $1`,
  },
  {
    types: ['server.online', 'server.offline'],
    told: onlineServers,
    stored: `SELECT 'online ' || server_id FROM activity.servers WHERE guild_id = $1 AND live_until > clock_timestamp()`,
  },
  {
    types: ['command.finished'],
    stored: `SELECT 'command.finished ' || command_id FROM activity.commands WHERE guild_id = $1 AND (
        cancelled_at IS NOT NULL OR acked_at IS NOT NULL OR expires_at <= clock_timestamp()
        OR (server_id = '' AND servers <= (
          SELECT count(*) FROM activity.deliveries
          WHERE deliveries.guild_id = $1 AND deliveries.command_id = commands.command_id AND acked_at IS NOT NULL)))`,
  },
  {
    types: ['key.created', 'key.changed', 'key.revoked', 'key.leaked'],
    stored: `SELECT event || ' ' || guild_id || '-' || number FROM auth.audit CROSS JOIN LATERAL unnest(
        CASE action WHEN 'create' THEN ARRAY['key.created'] WHEN 'revoke' THEN ARRAY['key.revoked'] ||
          CASE WHEN details ? 'leaked' THEN ARRAY['key.leaked'] ELSE '{}' END ELSE ARRAY['key.changed'] END) AS event
      WHERE guild_id = $1 AND service = 'auth' AND action IN ('create', 'update', 'rotate', 'revoke')`,
  },
  {
    // A key that is revoked before it was reported is not reported.
    types: ['key.expiring'],
    stored: `SELECT 'key.expiring ' || guild_id || '-' || number FROM auth.keys WHERE guild_id = $1
      AND expires_at < clock_timestamp() + interval '7 days' AND (revoked_at IS NULL OR expiring_reported = expires_at)`,
  },
  {
    types: ['webhook.disabled'],
    stored: `SELECT 'webhook.disabled ' || id FROM events.endpoints WHERE guild_id = $1 AND NOT enabled`,
  },
];

/**
 * The roles that members have after their events. An event may be repeated, because the chat platform is changed outside
 * of the transaction; replaying the events in order leads to the roles of the platform all the same.
 */
function rolesTold(events: readonly ReadEvent[], before: ReadonlyMap<string, readonly string[]>): string[] {
  const roles = new Map([...before].map(([chatId, held]) => [chatId, new Set(held)]));
  for (const { data } of events.filter(({ type }) => type === 'roles.changed')) {
    for (const role of data.added) roles.get(data.chat_id)?.add(role);
    for (const role of data.removed) roles.get(data.chat_id)?.delete(role);
  }
  return [...roles].map(([chatId, held]) => `roles ${chatId} ${[...held].toSorted().join(',')}`);
}

/**
 * The nicknames that members have after their events. Each event continues where the last one of the member ended, or
 * repeats it.
 */
function nicknamesTold(events: readonly ReadEvent[], before: ReadonlyMap<string, string | null>): string[] {
  const names = new Map(before);
  const faults: string[] = [];
  for (const { data } of events.filter(({ type }) => type === 'nickname.changed')) {
    const last = names.get(data.chat_id);
    if (data.from !== last && data.to !== last) faults.push(`${data.chat_id}: ${last}, then ${data.from} → ${data.to}`);
    names.set(data.chat_id, data.to);
  }
  return [...[...names].map(([chatId, name]) => `nickname ${chatId} ${name}`), ...faults];
}

/** The roles and nicknames of the members of a guild on the chat platform. */
export class PlatformState {
  readonly roles: ReadonlyMap<string, readonly string[]>;
  readonly nicknames: ReadonlyMap<string, string | null>;

  constructor({ sorted }: ChatGuild) {
    this.roles = new Map(sorted.map(({ id, roles }) => [id, [...roles]]));
    this.nicknames = new Map(sorted.map(({ id, nick }) => [id, nick]));
  }
}

interface ComparisonOptions {
  url: string;
  guild: string;
  before: PlatformState;
  now: PlatformState;
  /** The changes that were acknowledged, as the lines of their events. */
  confirmed: readonly string[];
}

/** Compares the events of a guild with the tables of the services and with the chat platform, before and now. */
export async function compare(
  events: readonly ReadEvent[],
  { url, guild, before, now, confirmed }: ComparisonOptions,
): Promise<{ told: string[]; stored: string[] }> {
  const reported = events.filter(({ type, data }) => type.startsWith('member.') && isNewMember(data.chat_id));
  const told = [
    ...rolesTold(events, before.roles),
    ...nicknamesTold(events, before.nicknames),
    ...reported.map(lineOfEvent),
  ];
  // The platform keeps no list of changes. It is never killed, so what it acknowledged is all that happened there.
  const stored = [
    ...rolesTold([], now.roles),
    ...nicknamesTold([], now.nicknames),
    ...confirmed.filter((line) => line.startsWith('member.')),
  ];
  for (const comparison of EXACT) {
    const own = events.filter(({ type }) => comparison.types.includes(type));
    told.push(...(comparison.told?.(own) ?? own.map(lineOfEvent)));
    const rows = await databaseRows<{ line: string }>(url, `SELECT line FROM (${comparison.stored}) AS stored (line)`, [
      guild,
    ]);
    stored.push(...rows.map(({ line }) => line));
  }
  return { told, stored };
}
