import { ApiError, type Rejection } from '#kit/errors.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { type Address, AddressList } from '../downstream/client-address.ts';

/** IP_NOT_ALLOWED if the key has an allowlist and the address is not on it. A malformed address is on no list. */
export function checkAllowlist(grant: KeyGrant, addressOf: () => Address | undefined): Rejection {
  if (grant.ipAllowlist.length === 0) return undefined;
  const address = addressOf();
  if (address && new AddressList(grant.ipAllowlist).has(address)) return undefined;
  return new ApiError('IP_NOT_ALLOWED', { details: { client_ip: address?.toString() ?? null } });
}
