import { guild } from '../start/01-set-up.ts';
import { created } from './02-create-webhook.ts';

const result = await guild.testWebhook({ id: created.id });
console.log(result.status, result.error);
