import { linkRecord } from '../lookup.ts';
import { unlinked } from '../members.ts';
import { eventType } from './event-type.ts';

const persons = { chat: ['chat_id'], game: ['game_id'] };

export const linkEvents = {
  'link.created': eventType({
    scope: 'members:read',
    summary: 'A chat account was linked with a game account',
    data: linkRecord,
    persons,
  }),
  'link.removed': eventType({
    scope: 'members:read',
    summary: 'A link was removed',
    data: unlinked,
    persons,
  }),
};
