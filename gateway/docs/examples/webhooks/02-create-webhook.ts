import { call, GUILD } from '../start/01-set-up.ts';
import { useSecret } from './01-receive.ts';

export const created = await call<{ id: string; secret: string }>('POST', '/api/v1/webhooks', {
  guild_id: GUILD,
  url: process.env['WEBHOOK_URL'] ?? 'https://example.com/hooks',
  types: ['ban.*', 'link.*'],
});
useSecret(created.secret);
