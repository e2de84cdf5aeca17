import { expect, test } from 'vitest';
import { EVENT_TYPE_NAMES } from '#proto/rest/events/index.ts';
import { chatMessage } from './message.ts';

const CHAT = '920000000000000001';
const ROLE = '910000000000000001';
const source = { kind: 'system', id: 'moderation' };
const shown = (type: string, data: object, from = source) =>
  chatMessage({ type, created_at: 1790000000, source: from, data }).content;

/** What the platform does with escaped text: a backslash before punctuation is not shown. */
const read = (content: string) => content.replaceAll(/\\([^0-9A-Za-z\s])/g, '$1');

/** The parts of a message that the platform would format: all punctuation without a backslash. */
const active = (content: string) => content.replaceAll(/\\[^0-9A-Za-z\s]/g, '').replaceAll(/[^!-/:-@[-`{-~]/g, '');

const BAN = {
  game_id: 7001,
  game_username: 'Builder',
  reason: 'griefing, again',
  moderator_chat_id: CHAT,
  moderator_game_id: 7002,
  expires_at: 1790086400,
  is_permanent: false,
};

test('a ban is one line with the player, the reason, the end, the moderator and the time', () => {
  expect(shown('ban.created', BAN)).toBe(
    `**Player banned** · Builder (game account 7001) · reason: griefing\\, again · until <t:1790086400:f> · by <@${CHAT}> · <t:1790000000:f>`,
  );
  expect(shown('ban.created', { ...BAN, expires_at: null, is_permanent: true })).toContain(' · permanent · ');
});

test('roles are shown by their mentions, at most ten of each list', () => {
  const many = Array.from({ length: 12 }, () => ROLE);
  const data = { chat_id: CHAT, game_id: 7001, added: [ROLE, { id: ROLE }], removed: many, failed: ['<@1>', 5, null] };
  const ten = many.slice(0, 10).map(() => `<@&${ROLE}>`);
  expect(shown('roles.changed', data)).toBe(
    `**Roles changed** · <@${CHAT}> (game account 7001) · added: <@&${ROLE}> <@&${ROLE}> · removed: ${ten.join(' ')} and 2 more · <t:1790000000:f>`,
  );
});

test('the source is shown if it is a key or a person, and not if it is hidden', () => {
  expect(shown('binding.removed', {}, { kind: 'api_key', id: 'gd_live_ab' })).toContain(
    ' · with API key gd\\_live\\_ab · ',
  );
  expect(shown('binding.removed', {}, { kind: 'console', id: CHAT })).toContain(` · in the console by <@${CHAT}> · `);
  const hidden = { type: 'link.created', created_at: 1, source: { kind: 'console' }, data: {} };
  expect(chatMessage(hidden).content).toBe('**Account linked** · <t:1:f>');
});

test.each([...EVENT_TYPE_NAMES, 'webhook.test', 'later.type', 'constructor', '__proto__'])(
  'an event of type %s is one line, with data, without data and with wrong data',
  (type) => {
    const wrong = Object.fromEntries(
      ['game_id', 'chat_id', 'reason', 'added', 'removed', 'failed', 'expires_at', 'prefix', 'name', 'status'].map(
        (field) => [field, { deep: [field] }],
      ),
    );
    for (const data of [BAN, { erased: true }, {}, [], wrong, { ...BAN, truncated: true, reason: undefined }]) {
      expect(shown(type, data)).toMatch(/^(?:\*\*|\\?[a-z])[^\n]{3,}$/i);
      expect(shown(type, data)).not.toMatch(/undefined|\[object|NaN/);
    }
  },
);

const HOSTILE = [
  '@everyone @here',
  `<@${CHAT}> <@&${ROLE}> <#1> </cmd:1> <t:0:R> <:emoji:1> <id:customize>`,
  '**bold** __under__ ~~strike~~ ||spoiler|| `code` ```block``` *a* _b_',
  '[link](https://evil.example) <https://evil.example> https://evil.example www.evil.example',
  '# heading\n> quote\n>>> quote\n- list\n1. list\n-# small',
  String.raw`\*not escaped\* \\`,
  'discord.gg/invite :smile: evil.example',
];

test.each(HOSTILE)('text of users is shown as it is and has no effect: %j', (text) => {
  const content = shown('ban.created', { ...BAN, reason: text, game_username: text });
  expect(active(content)).toBe(active(shown('ban.created', { ...BAN, reason: 'x', game_username: 'x' })));
  const oneLine = text.replaceAll(/\s+/g, ' ');
  expect(read(content)).toContain(`reason: ${oneLine} · `);
});

test('nobody is notified, and links have no previews', () => {
  const message = chatMessage({ type: 'ban.created', created_at: 1, source, data: BAN });
  expect(message).toMatchObject({ allowed_mentions: { parse: [] }, flags: 4 });
  expect(Object.keys(message).sort()).toEqual(['allowed_mentions', 'content', 'flags']);
});

test('characters that are invisible, or reverse or break the line, are left out', () => {
  expect(shown('ban.created', { reason: 'a\u202eb\u0000c\u200bd\r\ne\u2028f\ud800g' })).toContain('reason: abcd e fg ');
});

test('a message has at most 2,000 characters, however long and hostile the data is', () => {
  for (const filler of ['*', '😀', '𝕏*', 'a', '\n', '\ud83d']) {
    const long = filler.repeat(20_000);
    const data = { ...BAN, reason: long, game_username: long, category: long, source_server_id: long };
    for (const type of [...EVENT_TYPE_NAMES, long]) {
      const content = shown(type, data, { kind: 'api_key', id: long });
      expect(content.length).toBeLessThanOrEqual(2000);
      expect(content.isWellFormed()).toBe(true);
    }
  }
});
