import { type Html, html } from './html.ts';

/**
 * Renders the subset of Markdown that the OpenAPI document uses: paragraphs, `##` headings, `-` lists, and code in
 * backticks. The `id` of a heading is its slug.
 */
export function markdown(text: string): Html[] {
  return text.split(/\n{2,}/).map((block) => {
    if (block.startsWith('## ')) return html`<h3 id="${slug(block.slice(3))}">${inline(block.slice(3))}</h3>`;
    if (!block.startsWith('- ')) return html`<p>${inline(block)}</p>`;
    return html`<ul>${block.split('\n').map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`;
  });
}

/** Returns the headings of a Markdown text. */
export function headings(text: string): string[] {
  return [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
}

/** Renders one line of Markdown as HTML. */
export function inline(text: string): (Html | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** Converts the text of a heading to the ID of an HTML element. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
