/** A piece of HTML. Only `html` creates it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Html | string | number | undefined | Piece[];

/** A template tag that escapes its values unless they are `Html`. Lists are joined and undefined is left out. */
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

/** Escapes text for an element's content or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
