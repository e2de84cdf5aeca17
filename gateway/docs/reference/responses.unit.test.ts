import { expect, test } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import { operationIdOf } from '../../openapi/operation-id.ts';
import { RESPONSES } from './responses.ts';

/** Operations whose real response would not be the same in each run, or would show a reader nothing. */
const WITHOUT_RESPONSE = [
  // What they return depends on everything that was done before, or has not been sent yet.
  'whoami',
  'getUsage',
  'listEvents',
  'streamEvents',
  'testWebhook',
  'listWebhookDeliveries',
  'replayWebhook',
  // Operators define staff roles; without one there are no permissions.
  'getStaffPermissions',
  // The times of the example are in the past, when nobody was active.
  'getStaffReport',
];

test('the reference has a real response of every operation', () => {
  const missing = ROUTES.map(operationIdOf).filter((name) => RESPONSES[name] === undefined);
  expect(
    missing.toSorted(),
    'record the operation in test/docs/responses.test.ts, then run `npm run docs:responses`',
  ).toEqual(WITHOUT_RESPONSE.toSorted());
});
