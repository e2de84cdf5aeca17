import { ApiError } from '#kit/errors.ts';
import type { MemberVerdicts } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { JobProgress } from '../store/sync-jobs.ts';
import type { Changes, RoleFailure } from './role-plan.ts';

/** The maximum number of errors that a synchronisation job stores. Further errors are only counted. */
const MAX_ERRORS = 100;

/** What a job did with a member's nickname; the error if the chat platform failed to set it. */
export type NicknameOutcome = 'changed' | 'unchanged' | ApiError;

const REJECTED: RoleFailure = {
  role_id: '',
  code: 'PLATFORM_ERROR',
  message: 'The game platform rejects requests about the game account of this member',
};

const INCOMPLETE: RoleFailure = {
  role_id: '',
  code: 'PLATFORM_ERROR',
  message: 'The game platform did not return the data that the bindings need',
};

/** Adds to a job's progress what the job did with a member. */
export function countMember(
  progress: JobProgress,
  { chatId, link }: { chatId: string; link: Link | undefined },
  { added, removed, failed, nickname }: Changes & { nickname: NicknameOutcome },
  { incomplete, rejected }: MemberVerdicts,
): void {
  const ofNickname = nickname instanceof ApiError ? [{ ...INCOMPLETE, message: nickname.message }] : [];
  const failures = [...failed, ...ofNickname, ...(incomplete ? [INCOMPLETE] : []), ...(rejected ? [REJECTED] : [])];
  progress.position = chatId;
  // The total counts the verified members.
  if (link) progress.done += 1;
  if (added.length + removed.length > 0 || nickname === 'changed') progress.changed += 1;
  if (failures.length > 0) progress.failed += 1;
  for (const { role_id, code, message } of failures.slice(0, MAX_ERRORS - progress.errors.length)) {
    progress.errors.push({ chat_id: chatId, role_id: role_id || null, code, message });
  }
}
