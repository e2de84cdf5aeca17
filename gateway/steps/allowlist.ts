import { ApiError, type Rejection } from '#kit/errors.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { type Address, AddressList } from '../downstream/client-address.ts';

const parsed = new WeakMap<KeyGrant, AddressList>();

/** IP_NOT_ALLOWED when the key has an allowlist and the address is not on it; a malformed address never is. */
export function checkAllowlist(grant: KeyGrant, addressOf: () => Address | undefined): Rejection {
  if (grant.ipAllowlist.length === 0) return undefined;
  let allowed = parsed.get(grant);
  if (!allowed) {
    allowed = new AddressList(grant.ipAllowlist);
    parsed.set(grant, allowed);
  }
  const address = addressOf();
  if (address && allowed.has(address)) return undefined;
  return new ApiError('IP_NOT_ALLOWED', { details: { client_ip: address?.toString() ?? null } });
}
