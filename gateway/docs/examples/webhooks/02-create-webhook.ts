import { guild } from '../start/01-set-up.ts';
import { useSecret } from './01-receive.ts';

export const created = await guild.createWebhook({
  url: process.env['WEBHOOK_URL'] ?? 'https://example.com/hooks',
  types: ['ban.*', 'link.*'],
});
useSecret(created.secret);
