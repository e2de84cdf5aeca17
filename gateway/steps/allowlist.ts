import { type Address, AddressList } from '#kit/downstream/client-address.ts';
import { ApiError, type Rejection } from '#kit/errors.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';

/** Checks client addresses against the IP allowlists of API keys. */
export class Allowlists {
  /** The parsed allowlist of each cached grant: parsing a hundred entries takes longer than all other steps. */
  readonly #parsed = new WeakMap<KeyGrant, AddressList>();

  /** IP_NOT_ALLOWED if the API key has an allowlist without the client address. A malformed address is on no list. */
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
