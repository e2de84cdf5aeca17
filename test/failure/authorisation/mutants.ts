import { vi } from 'vitest';
import { Allowlists } from '#gateway/steps/allowlist.ts';
import { Authenticate, type Presented } from '#gateway/steps/authenticate.ts';
import * as guilds from '#gateway/steps/guild.ts';
import * as limit from '#gateway/steps/limit.ts';
import * as scope from '#gateway/steps/scope.ts';
import * as addresses from '#kit/downstream/client-address.ts';
import * as guard from '#kit/downstream/guard.ts';
import * as headers from '#kit/downstream/headers.ts';
import { ApiError } from '#kit/errors.ts';
import * as guildOfBody from '#kit/http/guild.ts';
import * as validation from '#kit/http/validate.ts';
import * as principal from '#kit/security/principal.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import * as scopes from '#proto/rest/scopes.ts';

/** A check that is removed, and how. The importing test must have mocked the modules as spies. */
export interface Mutant {
  check: string;
  apply: () => void;
}

const ANYBODY: KeyGrant = {
  keyId: '910000000000000000-1',
  guildId: '910000000000000000',
  prefix: '',
  legacy: true,
  scopes: [],
  ipAllowlist: [],
  rateLimit: 0,
  expiresAt: 0,
  validUntil: 0,
  version: 1,
};

type Run = (this: Authenticate, presented: Presented) => ReturnType<Authenticate['run']>;

/** Accepts a key that would be rejected with this code, in the selected requests. */
function letPass(code: string, isMeant: (presented: Presented) => boolean = () => true): void {
  const run: Run = Reflect.get(Authenticate.prototype, 'run');
  vi.spyOn(Authenticate.prototype, 'run').mockImplementation(async function (this: Authenticate, presented) {
    const found = await run.call(this, presented);
    return found instanceof ApiError && found.code === code && isMeant(presented) ? ANYBODY : found;
  });
}

const isInQuery = ({ query }: Presented) => query.includes('api_key=');

const nothing = (): undefined => undefined;

/** A check without one of its parts. */
function weakGuild(
  weaken: (given: Parameters<typeof guilds.checkGuild>) => Parameters<typeof guilds.checkGuild>,
): void {
  vi.mocked(guilds.checkGuild).mockImplementation((...given) => realGuilds.checkGuild(...weaken(given)));
}

const realGuilds = await vi.importActual<typeof guilds>('#gateway/steps/guild.ts');
const realScopes = await vi.importActual<typeof scopes>('#proto/rest/scopes.ts');
const realValidation = await vi.importActual<typeof validation>('#kit/http/validate.ts');

/** Each check of a request, removed once. */
export const MUTANTS: readonly Mutant[] = [
  { check: 'a request is well formed', apply: () => vi.mocked(guard.guard).mockImplementation(nothing) },
  {
    check: 'reserved headers, and those that Connection names, are taken away',
    apply: () => vi.mocked(headers.stripReserved).mockImplementation(nothing),
  },
  {
    check: 'services receive only what they read',
    apply: () => vi.mocked(headers.keepForwarded).mockImplementation(nothing),
  },
  { check: 'a key is there', apply: () => letPass('MISSING_API_KEY') },
  {
    check: 'a key is known and not revoked',
    apply: () => letPass('INVALID_API_KEY', (presented) => !isInQuery(presented)),
  },
  { check: 'no key is in the query', apply: () => letPass('INVALID_API_KEY', isInQuery) },
  { check: 'a key has not expired', apply: () => letPass('API_KEY_EXPIRED') },
  {
    check: 'the address is on the allowlist',
    apply: () => void vi.spyOn(Allowlists.prototype, 'check').mockImplementation(nothing),
  },
  {
    check: 'an address is believed of trusted proxies alone',
    apply: () =>
      vi
        .mocked(addresses.clientAddress)
        .mockImplementation((socket, forwarded) =>
          addresses.parseAddress(forwarded?.split(',')[0]?.trim() ?? socket ?? ''),
        ),
  },
  {
    check: "the guild in the path is the key's",
    apply: () => weakGuild(([match, header, own]) => [{ ...match, params: {} }, header, own]),
  },
  {
    check: "the guild in X-Guild-ID is the key's",
    apply: () => weakGuild(([match, header, own]) => [match, header === undefined ? header : own, own]),
  },
  {
    check: 'X-Guild-ID is there where it must be',
    apply: () => weakGuild(([match, header, own]) => [match, header ?? own, own]),
  },
  { check: 'the key has the scope', apply: () => vi.mocked(scope.checkScope).mockImplementation(nothing) },
  {
    check: 'a write grants the read of its own resource alone',
    apply: () =>
      vi.mocked(scopes.grantsScope).mockImplementation((given, required) => {
        if (given === null || given.includes(required)) return true;
        return required.endsWith(':read') && given.some((one) => one.endsWith(':write'));
      }),
  },
  {
    check: 'a write grants the read of its resource',
    apply: () =>
      vi.mocked(scopes.grantsScope).mockImplementation((given, required) => given === null || given.includes(required)),
  },
  {
    check: 'a legacy key reaches everything',
    apply: () =>
      vi
        .mocked(scopes.grantsScope)
        .mockImplementation((given, required) => given !== null && realScopes.grantsScope(given, required)),
  },
  { check: 'limits are kept', apply: () => vi.mocked(limit.checkLimits).mockResolvedValue(undefined) },
  {
    check: 'the principal is signed for the request',
    apply: () =>
      vi
        .mocked(principal.verifyPrincipal)
        .mockImplementation(() => ({ ...ANYBODY, keyPrefix: ANYBODY.prefix, scopes: null, requestId: 'mutant' })),
  },
  {
    check: "the guild in the body is the key's",
    apply: () => vi.mocked(guildOfBody.guildFaults).mockImplementation(() => []),
  },
  {
    check: 'the guild is in the body where it must be',
    apply: () =>
      vi.mocked(validation.validate).mockImplementation((schema, value, place) => {
        const result = realValidation.validate(schema, value, place);
        return result.faults ? { faults: result.faults.filter(({ path }) => path !== 'body.guild_id') } : result;
      }),
  },
];
