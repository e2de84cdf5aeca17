import { z } from 'zod';
import type { ChatInvite, ChatInviteRejection, ChatInviteRequest } from '../chat.ts';
import type { PlatformResponse } from '../http/host.ts';
import { CODES, codeOf, isForbidden } from './errors.ts';
import { snowflake } from './members.ts';

/** The address that opens an invite; the code follows. */
const INVITE_URL = 'https://discord.gg/';
const MAX_USES = 1;

export const channelSchema = z.object({ guild_id: snowflake.nullish() });

export const inviteSchema = z.object({
  code: z.string().regex(/^[\w-]{1,64}$/),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

/**
 * Returns the body of the call that creates an invite for one account. The platform accepts the list of accounts only as a
 * file, so the body is a multipart form.
 */
export function inviteForm({ chatId, roleIds, maxAgeSeconds }: ChatInviteRequest): FormData {
  const terms = { role_ids: roleIds, max_age: maxAgeSeconds, max_uses: MAX_USES, unique: true };
  const form = new FormData();
  form.append('payload_json', JSON.stringify(terms));
  form.append('target_users_file', new Blob([`${chatId}\n`], { type: 'text/csv' }), 'users.csv');
  return form;
}

export function toChatInvite({ code, expires_at: expiresAt }: z.output<typeof inviteSchema>): ChatInvite {
  return { url: INVITE_URL + code, expiresAt: expiresAt ? new Date(expiresAt) : null };
}

/** Returns why the platform rejected an invite; undefined if its response is no rejection of that kind. */
export function inviteRejection(response: PlatformResponse): ChatInviteRejection | undefined {
  if (isForbidden(response)) return 'not permitted';
  switch (codeOf(response)) {
    case CODES.unknownChannel:
      return 'no such channel';
    case CODES.unknownRole:
    case CODES.invalidRole:
      return 'no such role';
    case CODES.unknownUser:
    case CODES.invalidForm:
      return 'no such account';
    case CODES.tooManyInvites:
      return 'too many invites';
    default:
      return undefined;
  }
}
