import { call } from '../start/01-set-up.ts';
import { created } from './02-create-webhook.ts';

const { deliveries } = await call<{ deliveries: { seq: number; attempt: number; status: number | null }[] }>(
  'GET',
  `/api/v1/webhooks/${created.id}/deliveries`,
);
for (const { seq, attempt, status } of deliveries) console.log(seq, attempt, status);
