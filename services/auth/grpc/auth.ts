import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type {
  AuthServiceService,
  KeyHash,
  KeyUse,
  ReportRequestsRequest,
  VerifyResult,
} from '#proto/gen/guild/auth/v1/auth.ts';
import { guildId } from '#proto/rest/schemas.ts';
import { type Grant, parseKeyId } from '../domain/key.ts';
import type { Requests } from '../domain/requests.ts';
import type { Watchers } from '../domain/watchers.ts';
import { recordUse, type KeyUse as StoredKeyUse } from '../store/key-uses.ts';
import * as store from '../store/keys.ts';
import type { RequestReport } from '../store/requests.ts';
import type { AuthTelemetry } from '../telemetry.ts';
import { changeView, grantView } from './views.ts';

const MAX_HASHES = 64;
const HASH_BYTES = 32;
const MAX_USES = 10_000;
const MAX_COUNTS = 10_000;

const count = z.int().min(0);
const report = z.object({
  reporter: z.string().min(1).max(64),
  sequence: z.int().min(1),
  counts: z
    .array(
      z.object({
        guildId,
        // A gateway of a newer version may have categories that this version does not know.
        category: z.string().regex(/^[a-z_]{1,40}$/),
        minute: z.int().min(0).multipleOf(60),
        allowed: count,
        rejected: count,
      }),
    )
    .max(MAX_COUNTS),
});

export interface AuthHandlersOptions {
  database: Database;
  clock: Clock;
  watchers: Watchers;
  requests: Pick<Requests, 'add'>;
  telemetry: AuthTelemetry;
}

/** The methods of the gRPC service AuthService, which gateways call. */
export function authHandlers({
  database,
  clock,
  watchers,
  requests,
  telemetry,
}: AuthHandlersOptions): GrpcHandlers<typeof AuthServiceService> {
  const now = () => new Date(clock.now());
  return {
    verify: async ({ keys }) => {
      checkHashes(keys);
      const guildIds = keys.map((key) => key.guildId);
      const hashes = keys.map((key) => key.hash);
      const grants = await store.verifyHashes(database, guildIds, hashes, now());
      const unknown = grants.filter((grant) => grant === null).length;
      const unavailable = grants.filter((grant) => grant instanceof ApiError).length;
      telemetry.secretsVerified({ known: grants.length - unknown - unavailable, unknown, unavailable });
      return { results: grants.map(verifyResult) };
    },
    watch: async (_request, stream) => {
      await watchers.watch({
        sendChange: (change) => stream.write({ event: { $case: 'change', value: changeView(change) } }),
        sendBeat: () => stream.write({ event: { $case: 'beat', value: {} } }),
        get unsent() {
          return stream.waiting;
        },
        signal: stream.signal,
      });
    },
    recordUse: async ({ uses }) => {
      await recordUse(database, readUses(uses), now());
      return {};
    },
    reportRequests: async (request) => {
      await requests.add(readReport(request));
      return {};
    },
  };
}

function verifyResult(grant: Grant | null | ApiError): VerifyResult {
  if (grant instanceof ApiError) return { isUnavailable: true };
  return { grant: grant ? grantView(grant) : undefined, isUnavailable: false };
}

function checkHashes(keys: readonly KeyHash[]): void {
  if (keys.length > MAX_HASHES) {
    throw invalidRequest([{ path: 'request.keys', message: `must hold at most ${MAX_HASHES}` }]);
  }
  const faults = keys.flatMap(({ hash }, index) =>
    hash.length === HASH_BYTES ? [] : [{ path: `request.keys[${index}].hash`, message: 'must be SHA-256' }],
  );
  if (faults.length > 0) throw invalidRequest(faults);
}

function readUses(uses: readonly KeyUse[]): StoredKeyUse[] {
  if (uses.length > MAX_USES) {
    throw invalidRequest([{ path: 'request.uses', message: `must hold at most ${MAX_USES}` }]);
  }
  return uses.map(({ keyId, usedAt }, index) => {
    const key = parseKeyId(keyId);
    if (!key) throw invalidRequest([{ path: `request.uses[${index}].key_id`, message: 'must be the ID of a key' }]);
    return { ...key, usedAt: new Date(usedAt * 1000) };
  });
}

function readReport(request: ReportRequestsRequest): RequestReport {
  const { counts, ...others } = checked(report, request);
  return { ...others, counts: counts.map((each) => ({ ...each, minute: new Date(each.minute * 1000) })) };
}
