import { text } from './schemas.ts';

/** The fields that a nickname template may contain. */
export const TEMPLATE_FIELDS = ['game_username', 'chat_username', 'rank_name'] as const;

const FIELD = new RegExp(`\\{(?:${TEMPLATE_FIELDS.join('|')})\\}`, 'g');

/** True if every brace of the template belongs to a known field. */
const hasKnownFields = (template: string) => !/[{}]/.test(template.replaceAll(FIELD, ''));

export const notBlank = [(value: string) => value.trim() !== '', { error: 'must not be blank' }] as const;

/** A template for the nicknames of members. */
export const nicknameTemplate = text(1, 200)
  .refine(...notBlank)
  .refine(hasKnownFields, { error: `may hold braces only around ${TEMPLATE_FIELDS.join(', ')}` });
