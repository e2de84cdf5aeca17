import { guild } from '../start/01-set-up.ts';

const polled = await guild.listEvents({ wait: 25 });
for (const { seq, type } of polled.events) console.log(seq, type);
console.log('continue after', polled.next_after);
