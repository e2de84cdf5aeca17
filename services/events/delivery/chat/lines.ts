import type { EventType } from '#proto/rest/events/index.ts';
import { boundRole, type Detail, end, labelled, moderator, player, reason, roles } from './details.ts';

/** How events of one type are shown: a title, and the details that follow it. */
export interface Line {
  title: string;
  details: readonly Detail[];
}

const punishment = [player, reason, end, moderator];
const lifted = [player, reason, moderator];
const flagged = [player, reason, labelled('category', 'category')];
const roleBinding = [
  boundRole,
  labelled('type', 'binding_type'),
  labelled('group', 'game_group_name', 'game_group_id'),
];
const session = [player, labelled('server', 'server_id'), labelled('seconds', 'duration_seconds')];
const server = [labelled('server', 'server_id'), labelled('place', 'place_id'), labelled('players', 'player_count')];
const key = [labelled('key', 'prefix', 'key_prefix', 'id'), labelled('name', 'name', 'label')];

/** The lines of all event types, and of the test of a webhook. */
export const LINES: Record<EventType | 'webhook.test', Line> = {
  'link.created': { title: 'Account linked', details: [player] },
  'link.removed': { title: 'Link removed', details: [player] },
  'ban.created': { title: 'Player banned', details: punishment },
  'ban.lifted': { title: 'Ban lifted', details: lifted },
  'ban.expired': { title: 'Ban expired', details: lifted },
  'ban.drifted': {
    title: 'Ban differed from the game platform',
    details: [player, labelled('universe', 'universe_id'), labelled('place', 'place_id')],
  },
  'mute.created': { title: 'Player muted', details: punishment },
  'mute.lifted': { title: 'Mute lifted', details: lifted },
  'mute.expired': { title: 'Mute expired', details: lifted },
  'shield.added': { title: 'Player flagged', details: flagged },
  'shield.removed': { title: 'Flag of a player removed', details: flagged },
  'binding.created': { title: 'Role binding added', details: roleBinding },
  'binding.updated': { title: 'Role binding changed', details: roleBinding },
  'binding.removed': { title: 'Role binding removed', details: roleBinding },
  'roles.changed': {
    title: 'Roles changed',
    details: [player, roles('added', 'added'), roles('removed', 'removed'), roles('failed', 'failed'), reason],
  },
  'nickname.changed': { title: 'Nickname changed', details: [player, labelled('nickname', 'nickname')] },
  'member.joined': { title: 'Member joined', details: [player] },
  'member.left': { title: 'Member left', details: [player] },
  'member.roles_changed': {
    title: 'Roles of a member changed',
    details: [player, roles('added', 'added'), roles('removed', 'removed')],
  },
  'sync.job.finished': {
    title: 'Sync of all members ended',
    details: [labelled('status', 'status'), labelled('members', 'processed', 'total'), labelled('failed', 'failed')],
  },
  'session.started': { title: 'Staff session started', details: session },
  'session.ended': { title: 'Staff session ended', details: session },
  'staff.action': {
    title: 'Staff action',
    details: [player, labelled('action', 'action', 'action_type', 'type'), labelled('server', 'server_id'), reason],
  },
  'server.online': { title: 'Game server online', details: server },
  'server.offline': { title: 'Game server offline', details: server },
  'command.finished': {
    title: 'Command finished',
    details: [labelled('type', 'type'), player, labelled('status', 'status'), labelled('command', 'command_id')],
  },
  'key.created': { title: 'API key created', details: key },
  'key.changed': { title: 'API key changed', details: key },
  'key.revoked': { title: 'API key revoked', details: [...key, reason] },
  'key.expiring': { title: 'API key expires soon', details: [...key, end] },
  'key.leaked': { title: 'API key leaked', details: key },
  'webhook.disabled': {
    title: 'Webhook disabled',
    details: [labelled('webhook', 'description', 'id'), labelled('reason', 'disabled_reason', 'reason')],
  },
  'person.erased': { title: 'Data of a person erased', details: [] },
  'webhook.test': { title: 'Test message of a webhook', details: [] },
};

/** Shows the details of an event whose type has no text of its own, such as a type of a newer version. */
export const OTHER_DETAILS: readonly Detail[] = [player, reason, labelled('status', 'status'), moderator];
