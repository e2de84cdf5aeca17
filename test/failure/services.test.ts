import { describe, expect, test } from 'vitest';
import { expectNothingUnhandled } from './faults.ts';
import { checkPart } from './matrix.ts';

expectNothingUnhandled();

describe.concurrent('a service that is down, slow or reset', () => {
  test.each(['lookup', 'bindings', 'moderation', 'members', 'activity'] as const)(
    '%s: requests that need it get 503 or 504, others succeed, and it is used again within 10 s',
    async (part) => expect(await checkPart(part)).toEqual(['down', 'slow', 'reset']),
    300_000,
  );
});
