import { guild } from '../start/01-set-up.ts';

let after = 0;
const polled = await guild.listEvents({ after, wait: 25 });
for (const { seq, type } of polled.events) console.log(seq, type);
after = polled.next_after;
console.log('continue after', after);
