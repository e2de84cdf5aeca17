import { guild } from '../start/01-set-up.ts';

for await (const event of guild.events()) {
  console.log(event.seq, event.type);
  break; // leave this out to go on
}
