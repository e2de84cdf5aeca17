import { guild } from '../start/01-set-up.ts';

await guild.listBindings({
  onResponse: ({ headers }) =>
    console.log(headers.get('X-RateLimit-Remaining'), 'requests left until', headers.get('X-RateLimit-Reset')),
});
