import { guild } from '../start/01-set-up.ts';

for await (const event of guild.events({ after: 0 })) {
  console.log(event.seq, event.type);
  break; // leave this out to go on
}
