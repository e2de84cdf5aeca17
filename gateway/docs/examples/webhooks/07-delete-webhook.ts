import { call } from '../start/01-set-up.ts';
import { created } from './02-create-webhook.ts';

await call('DELETE', `/api/v1/webhooks/${created.id}`);
