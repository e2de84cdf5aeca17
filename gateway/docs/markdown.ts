import { type Html, html } from './html.ts';

/**
 * The Markdown that the document's own texts use: paragraphs, `##` headings, `-` lists, and code between backticks.
 * Headings get an `id` made of their text.
 */
export function markdown(text: string): Html[] {
  return text.split(/\n{2,}/).map((block) => {
    if (block.startsWith('## ')) return html`<h3 id="${slug(block.slice(3))}">${inline(block.slice(3))}</h3>`;
    if (!block.startsWith('- ')) return html`<p>${inline(block)}</p>`;
    return html`<ul>${block.split('\n').map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`;
  });
}

/** The headings of a Markdown text. */
export function headings(text: string): string[] {
  return [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
}

/** One line of Markdown. */
export function inline(text: string): (Html | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** A text as an element's ID. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
