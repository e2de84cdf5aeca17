import { guild } from '../start/01-set-up.ts';

export const sent = await guild.sendCommand({
  type: 'broadcast',
  all: true,
  payload: { text: 'Restart in five minutes' },
});
console.log(`sent to ${sent.servers} servers`);
