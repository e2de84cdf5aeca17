import { call } from '../start/01-set-up.ts';
import { created } from './02-create-webhook.ts';

const result = await call<{ status: number | null; error: string | null }>(
  'POST',
  `/api/v1/webhooks/${created.id}/test`,
);
console.log(result.status, result.error);
