import type { RetentionRule } from '#kit/postgres/retention.ts';
import type { MembersConfig } from './config.ts';

const MINUTE = 60;
const DAY = 24 * 3600;

/** The age in seconds, counted from a time column, at which the rows of each table are deleted. */
export const retentionRules = (config: MembersConfig): RetentionRule[] => [
  { table: 'members.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
  { table: 'members.verification_tokens', column: 'expires_at', seconds: config.RETENTION_TOKENS_SECONDS },
  { table: 'members.mirror_members', column: 'seen_at', seconds: config.RETENTION_MIRROR_SECONDS },
  // Members who left are kept for longer than any read of the chat platform takes.
  { table: 'members.mirror_members', column: 'left_at', seconds: 10 * MINUTE },
  { table: 'members.mirror_guilds', column: 'seen_at', seconds: config.RETENTION_MIRROR_SECONDS },
  // Only killed processes leave locks behind; all other locks are released.
  { table: 'members.member_locks', column: 'taken_at', seconds: DAY },
  { table: 'members.role_invites', column: 'kept_until', seconds: 0 },
  { table: 'members.member_reports', column: 'hour', seconds: DAY },
  { table: 'members.timeout_changes', column: 'changed_at', seconds: 7 * DAY },
  { table: 'members.role_tasks', column: 'created_at', seconds: config.RETENTION_ROLE_TASKS_SECONDS },
  { table: 'members.known_ranks', column: 'seen_at', seconds: config.RETENTION_KNOWN_RANKS_SECONDS },
  { table: 'members.sync_jobs', column: 'finished_at', seconds: config.RETENTION_JOBS_SECONDS },
  { table: 'members.binding_previews', column: 'finished_at', seconds: config.RETENTION_JOBS_SECONDS },
  { table: 'members.intents', column: 'finished_at', seconds: config.RETENTION_INTENTS_SECONDS },
];
