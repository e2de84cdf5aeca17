import { guild } from '../start/01-set-up.ts';
import { created } from './02-create-webhook.ts';

await guild.deleteWebhook({ id: created.id });
