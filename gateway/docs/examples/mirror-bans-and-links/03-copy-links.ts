import { guild } from '../start/01-set-up.ts';

const links = await guild.listVerifiedUsers({ limit: 100 });
const changed = await guild.listVerifiedUsers({ updated_since: links.server_time });
console.log(links.users, changed.users, changed.unlinked);
