import { guild } from '../start/01-set-up.ts';
import { created } from './02-create-webhook.ts';

const { deliveries } = await guild.listWebhookDeliveries({ id: created.id });
for (const { seq, attempt, status } of deliveries) console.log(seq, attempt, status);
