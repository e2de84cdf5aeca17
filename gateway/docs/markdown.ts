import { type Html, html } from './html.ts';

export interface MarkdownOptions {
  /** Renders a line that begins with `@`, which is not Markdown: `@example 01-name` shows an example, for instance. */
  directive?: (line: string) => Html;
}

/** One block of a Markdown text: consecutive lines that belong together. */
interface Block {
  kind: 'heading' | 'list' | 'table' | 'code' | 'directive' | 'paragraph';
  lines: string[];
}

const HEADING = /^(#{1,4}) (.+)$/;
const ITEM = /^(?:-|\d+\.) /;
const FENCE = '```';

/**
 * Renders the subset of Markdown that our texts use: headings, paragraphs, lists, tables, fenced code, links, bold text
 * and code. A heading of the second level has its slug as `id`.
 */
export function markdown(text: string, { directive }: MarkdownOptions = {}): Html[] {
  return blocksOf(text).map((block) => {
    if (block.kind === 'directive' && directive) return directive(block.lines[0] ?? '');
    return renderBlock(block);
  });
}

function renderBlock({ kind, lines }: Block): Html {
  switch (kind) {
    case 'heading':
      return heading(lines[0] ?? '');
    case 'code':
      return html`<pre><code>${lines.join('\n')}</code></pre>\n`;
    case 'table':
      return tableOf(lines);
    case 'list':
      return listOf(lines);
    default:
      return html`<p>${inline(lines.join('\n'))}</p>\n`;
  }
}

/** Returns the headings of the second level. */
export function headings(text: string): string[] {
  return [...text.matchAll(/^## (.+)$/gm)].map(([, found = '']) => found);
}

function heading(line: string): Html {
  const [, marks = '#', text = ''] = HEADING.exec(line) ?? [];
  const content = inline(text);
  switch (marks.length) {
    case 1:
      return html`<h1>${content}</h1>\n`;
    case 2:
      return html`<h2 id="${slug(text)}">${content}</h2>\n`;
    case 3:
      return html`<h3>${content}</h3>\n`;
    default:
      return html`<h4>${content}</h4>\n`;
  }
}

function listOf(lines: string[]): Html {
  const isNumbered = /^\d/.test(lines[0] ?? '');
  const items: string[] = [];
  for (const line of lines) {
    if (ITEM.test(line)) items.push(line.replace(ITEM, ''));
    else items.push(`${items.pop() ?? ''}\n${line.trim()}`);
  }
  const rendered = items.map((item) => html`<li>${inline(item)}</li>\n`);
  return isNumbered ? html`<ol>${rendered}</ol>\n` : html`<ul>${rendered}</ul>\n`;
}

function tableOf([head = '', , ...rows]: string[]): Html {
  const cells = (line: string) =>
    line
      .replaceAll(/^\||\|$/g, '')
      .split('|')
      .map((cell) => inline(cell.trim()));
  return table(cells(head), rows.map(cells));
}

type Cell = Html | string | undefined | Cell[];

/**
 * Renders a table. Each cell has the name of its column, because narrow screens show a row as a card, without the table's
 * head.
 */
export function table(columns: readonly Cell[], rows: readonly (readonly Cell[])[]): Html {
  const names = columns.map(plainText);
  return html`<table><thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr>${row.map((cell, index) => html`<td data-name="${names[index] ?? ''}">${cell}</td>`)}</tr>\n`,
  )}</tbody></table>\n`;
}

function plainText(cell: Cell): string {
  if (cell === undefined) return '';
  if (Array.isArray(cell)) return cell.map(plainText).join('');
  return typeof cell === 'string' ? cell : cell.text.replaceAll(/<[^>]*>/g, '');
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let isNew = true;
  let isCode = false;
  for (const line of text.split('\n')) {
    const last = blocks.at(-1);
    if (line.startsWith(FENCE)) {
      if (!isCode) blocks.push({ kind: 'code', lines: [] });
      isCode = !isCode;
      isNew = true;
    } else if (isCode) {
      last?.lines.push(line);
    } else if (line.trim() === '') {
      isNew = true;
    } else {
      const kind = kindOf(line);
      const isOwn = kind === 'heading' || kind === 'directive';
      if (!isOwn && last && !isNew && (kind === last.kind || kind === 'paragraph')) last.lines.push(line);
      else blocks.push({ kind, lines: [line] });
      isNew = isOwn;
    }
  }
  return blocks;
}

function kindOf(line: string): Block['kind'] {
  if (HEADING.test(line)) return 'heading';
  if (ITEM.test(line)) return 'list';
  if (line.startsWith('|')) return 'table';
  return line.startsWith('@') ? 'directive' : 'paragraph';
}

const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|\[([^\]]+)\]\(((?:\/|#|https:\/\/)[^)\s]*)\)/gs;

/** Renders text with code in backticks, bold text, and links. */
export function inline(text: string): (Html | string)[] {
  const parts: (Html | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    parts.push(inlineElement(match));
  }
  parts.push(text.slice(end));
  return parts;
}

function inlineElement([, code, bold, label, target]: RegExpExecArray): Html {
  if (code !== undefined) return html`<code>${code}</code>`;
  if (bold !== undefined) return html`<b>${inline(bold)}</b>`;
  return html`<a href="${target}">${inline(label ?? '')}</a>`;
}

/** Converts the text of a heading to the ID of an HTML element. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
