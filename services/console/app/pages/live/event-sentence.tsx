import type { ComponentChildren } from 'preact';
import type { ErasedEventData, Event } from '#clients/typescript/src/operations-types.ts';
import { PersonName } from '../../components/person.tsx';
import { liveTexts, eventTexts as texts } from '../../texts.ts';

type EventType = Event['type'];
type DataIn<Each, Type> = Each extends { type: infer Own; data: infer Data }
  ? Type extends Own
    ? Exclude<Data, ErasedEventData>
    : never
  : never;

/** A sentence for each type of event. The compiler reports a type that has none. */
type Sentences = { [Type in EventType]: (data: DataIn<Event, Type>) => ComponentChildren };

interface Player {
  game_id: number;
  game_username: string | null;
}

const player = ({ game_id, game_username }: Player, text: string) => (
  <>
    <PersonName gameId={game_id} name={game_username} /> {text}
  </>
);
const member = (chatId: string, text: string) => (
  <>
    <PersonName chatId={chatId} /> {text}
  </>
);

const SENTENCES: Sentences = {
  'ban.created': (data) => player(data, texts['ban.created'](data.reason)),
  'ban.drifted': ({ game_id }) => player({ game_id, game_username: null }, texts['ban.drifted']),
  'ban.expired': (data) => player(data, texts['ban.expired']),
  'ban.lifted': (data) => player(data, texts['ban.lifted']),
  'mute.created': (data) => player(data, texts['mute.created'](data.reason)),
  'mute.expired': (data) => player(data, texts['mute.expired']),
  'mute.lifted': (data) => player(data, texts['mute.lifted']),
  'shield.added': (data) => player(data, texts['shield.added'](data.reason)),
  'shield.removed': (data) => player(data, texts['shield.removed']),
  'session.started': (data) => player(data, texts['session.started']),
  'session.ended': (data) => player(data, texts['session.ended']),
  'staff.action': (data) =>
    player({ game_id: data.actor_game_id, game_username: null }, texts['staff.action'](data.action_type)),
  'link.created': (data) => member(data.chat_id, texts['link.created'](data.game_username)),
  'link.removed': (data) => member(data.chat_id, texts['link.removed']),
  'roles.changed': (data) =>
    member(data.chat_id, texts['roles.changed'](data.added.length, data.removed.length, data.failed.length)),
  'member.joined': ({ chat_id }) => member(chat_id, texts['member.joined']),
  'member.left': ({ chat_id }) => member(chat_id, texts['member.left']),
  'member.roles_changed': ({ chat_id, added, removed }) =>
    member(chat_id, texts['roles.changed'](added.length, removed.length, 0)),
  'nickname.changed': (data) =>
    member(data.chat_id, data.to === null ? texts['nickname.removed'] : texts['nickname.changed'](data.to)),
  'server.online': (data) => texts['server.online'](liveTexts.server(data.server_id)),
  'server.offline': (data) => texts['server.offline'](liveTexts.server(data.server_id)),
  'command.finished': ({ type, outcome }) => texts['command.finished'](type, outcome.succeeded, outcome.servers),
  'binding.created': ({ chat_role_name }) => texts['binding.created'](chat_role_name),
  'binding.updated': ({ chat_role_name }) => texts['binding.updated'](chat_role_name),
  'binding.removed': ({ chat_role_name }) => texts['binding.removed'](chat_role_name),
  'sync.job.finished': ({ state, changed }) =>
    state === 'failed' ? texts['sync.job.failed'] : texts['sync.job.finished'](changed),
  'key.created': ({ name }) => texts['key.created'](name),
  'key.changed': ({ name }) => texts['key.changed'](name),
  'key.revoked': ({ name }) => texts['key.revoked'](name),
  'key.expiring': ({ name }) => texts['key.expiring'](name),
  'key.leaked': ({ name }) => texts['key.leaked'](name),
  'webhook.disabled': ({ url }) => texts['webhook.disabled'](url),
  'person.erased': () => texts['person.erased'],
};

/** What happened, in a sentence. */
export function EventSentence({ event }: { event: Event }) {
  if ('erased' in event.data) return <>{texts.erased}</>;
  // The type decides which data there is, which the compiler cannot follow through the table. A newer system may have types
  // that this script does not know.
  const sentence = SENTENCES[event.type] as ((data: unknown) => ComponentChildren) | undefined;
  return <>{sentence ? sentence(event.data) : event.type}</>;
}
