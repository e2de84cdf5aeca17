import { ApiError, type Rejection } from '#kit/errors.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { type Address, AddressList } from '../downstream/client-address.ts';

/** Checks client addresses against the allowlists of keys. */
export class Allowlists {
  /** The parsed list of each cached grant. Parsing one of a hundred entries takes longer than all other steps. */
  readonly #parsed = new WeakMap<KeyGrant, AddressList>();

  /** IP_NOT_ALLOWED if the key has an allowlist and the address is not on it. A malformed address is on no list. */
  check(grant: KeyGrant, addressOf: () => Address | undefined): Rejection {
    if (grant.ipAllowlist.length === 0) return undefined;
    const address = addressOf();
    if (address && this.#listOf(grant).has(address)) return undefined;
    return new ApiError('IP_NOT_ALLOWED', { details: { client_ip: address?.toString() ?? null } });
  }

  #listOf(grant: KeyGrant): AddressList {
    const parsed = this.#parsed.get(grant) ?? new AddressList(grant.ipAllowlist);
    this.#parsed.set(grant, parsed);
    return parsed;
  }
}
