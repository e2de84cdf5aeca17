import { readFileSync } from 'node:fs';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { expect, test } from 'vitest';
import { ADMIN_PATHS } from '#services/auth/domain/operators/roles.ts';

/** Names of the contracts that operators call. */
const ADMINISTRATIVE = /(?:Admin|Erasure)Service$/;

test('every method that operators can call is in the table of roles', () => {
  const described = loadFileDescriptorSetFromBuffer(
    readFileSync(new URL('../../proto/gen/descriptors.binpb', import.meta.url)),
  );
  const paths = Object.entries(described)
    .filter(([name]) => ADMINISTRATIVE.test(name))
    .flatMap(([, service]) => Object.values(service as Record<string, { path: string }>).map(({ path }) => path));
  expect(paths.length).toBeGreaterThan(25);
  expect(paths.filter((path) => !ADMIN_PATHS.has(path))).toEqual([]);
});
