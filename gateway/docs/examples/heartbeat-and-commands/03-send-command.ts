import { call, GUILD } from '../start/01-set-up.ts';

export const sent = await call<{ command_id: string; servers: number }>('POST', `/api/v1/guilds/${GUILD}/commands`, {
  type: 'broadcast',
  all: true,
  payload: { text: 'Restart in five minutes' },
});
console.log(`sent to ${sent.servers} servers`);
