/** A piece of HTML that is safe to send. Only the template tag `html` creates such pieces. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Html | string | number | undefined | Piece[];

/** A template tag for HTML. Escapes each value unless it is `Html`, joins lists, and leaves out undefined. */
export function html(strings: TemplateStringsArray, ...values: Piece[]): Html {
  return new Html(strings.map((string, index) => string + render(values[index])).join(''));
}

function render(piece: Piece): string {
  if (piece === undefined) return '';
  if (piece instanceof Html) return piece.text;
  if (Array.isArray(piece)) return piece.map(render).join('');
  return escapeHtml(String(piece));
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes text, so that it can be used as the content of an HTML element or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

/** Reverses `escapeHtml`. */
export function unescapeHtml(text: string): string {
  return Object.entries(ESCAPES)
    .toReversed()
    .reduce((rest, [character, escape]) => rest.replaceAll(escape, character), text);
}
