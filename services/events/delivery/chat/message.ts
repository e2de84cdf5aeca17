import type { Data, Detail } from './details.ts';
import { LINES, OTHER_DETAILS } from './lines.ts';
import { escapeText, mention, timeOf } from './text.ts';

/** An event as it is shown in a chat message, with the fields that webhooks receive. */
export interface ShownEvent {
  type: string;
  created_at: number;
  source: { kind: string; id?: string | null };
  data: object;
}

/** The body of a message for an incoming webhook of the chat platform. */
export interface ChatMessage {
  content: string;
  allowed_mentions: { parse: [] };
  flags: number;
}

const MAX_CONTENT = 2000;
const MAX_TYPE = 100;
const SEPARATOR = ' · ';
/** SUPPRESS_EMBEDS: the platform shows no previews of links. */
const FLAGS = 4;

/**
 * Returns the body with which an event is posted to an incoming webhook of the chat platform: one readable line that
 * notifies nobody and in which texts of users have no effect. Works for every type, also for unknown ones.
 */
export function chatMessage(event: ShownEvent): ChatMessage {
  const { title, details } = lineOf(event.type);
  const parts = [...details.map((detail) => detail(event.data as Data)), sourceOf(event), timeOf(event.created_at)];
  return { content: joined(`**${title}**`, parts), allowed_mentions: { parse: [] }, flags: FLAGS };
}

function lineOf(type: string): { title: string; details: readonly Detail[] } {
  const known = Object.hasOwn(LINES, type) ? LINES[type as keyof typeof LINES] : undefined;
  return known ?? { title: escapeText(type, MAX_TYPE), details: OTHER_DETAILS };
}

function sourceOf({ source: { kind, id } }: ShownEvent): string | undefined {
  if (id == null) return undefined;
  if (kind === 'api_key') return `with API key ${escapeText(id, MAX_TYPE)}`;
  return kind === 'console' ? `in the console by ${mention(id) ?? escapeText(id, MAX_TYPE)}` : undefined;
}

/** Joins the title and the parts, without the parts that the platform's limit leaves no room for. */
function joined(title: string, parts: (string | undefined)[]): string {
  let content = title;
  for (const part of parts) {
    if (part === undefined || content.length + SEPARATOR.length + part.length > MAX_CONTENT) continue;
    content += SEPARATOR + part;
  }
  return content;
}
