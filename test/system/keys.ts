import type { AllowedCallers } from '#kit/grpc/call-token.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { deriveKeys, formatKeys } from '#kit/security/process-keys.ts';
import { callPurpose, KEY_HOLDERS, OPERATORS, principalPurpose, purposesOf } from '#kit/security/purposes.ts';
import { PROCESSES, type ProcessContract } from '#proto/processes.ts';

/** The INTERNAL_SECRETS from which the keys of services in tests are derived. */
export const TEST_SECRETS = ['a secret for tests of more than 32 bytes'];

/** The ADMIN_SECRETS from which the keys of services in tests are derived. */
export const TEST_ADMIN_SECRETS = ['a secret for operators of more than 32 bytes'];

/** A caller that only exists in tests. */
const TEST_CALLER = 'test';

interface TestRoots {
  internal?: readonly string[];
  admin?: readonly string[];
}

/**
 * INTERNAL_KEYS for any service that a test starts alone: the keys of every process, and keys of a caller `test` that
 * may call each of them. `others` are names of services that only exist in tests and call each other.
 */
export function testKeys(roots: TestRoots = {}, others: readonly string[] = []): string {
  const { internal = TEST_SECRETS, admin = TEST_ADMIN_SECRETS } = roots;
  const names = [...Object.keys(PROCESSES), ...others];
  const purposes = [
    ...KEY_HOLDERS.flatMap((name) => purposesOf(name) ?? []),
    ...names.map((name) => callPurpose(TEST_CALLER, name)),
    ...others.map(principalPurpose),
    ...others.flatMap((name) => [OPERATORS, ...others].map((caller) => callPurpose(caller, name))),
  ];
  return formatKeys(deriveKeys([...new Set(purposes)], { internal, admin }));
}

/** The callers that a service in a test accepts, with keys derived from these secrets. */
export function allowedCallers(secrets: readonly string[], ...names: string[]): AllowedCallers {
  return { ring: new SecretRing(secrets), names: new Set(names) };
}

const ADMINISTRATIVE = /Admin|Erasure/;
const CONSOLE = /ConsoleService/;

/** The caller name for a contract: operators, the console, the first process that calls the service, or `test`. */
export function testCallerOf(definition: DefinitionShape, audience: string): string {
  if (Object.values(definition).some(({ path }) => ADMINISTRATIVE.test(path))) return OPERATORS;
  if (Object.values(definition).some(({ path }) => CONSOLE.test(path))) return 'console';
  const processes: [string, ProcessContract][] = Object.entries(PROCESSES);
  return processes.find(([, { calls }]) => calls.includes(audience))?.[0] ?? TEST_CALLER;
}
