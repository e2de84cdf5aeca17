import type { Answer } from '../routes.ts';

/** A person who can sign in, as the page shows it. */
export type PagePerson = { id: string; name: string; note: string };

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:2rem auto;padding:0 1rem}
li{list-style:none;margin:.5rem 0}ul{padding:0}a{display:block;padding:.5rem 1rem;border:1px solid #888;border-radius:.4rem}`;

/** A page with a link for each person of the world, and one that cancels. */
export function signInPage({
  title,
  persons,
  query,
}: {
  title: string;
  persons: readonly PagePerson[];
  query: URLSearchParams;
}): Answer {
  const link = (login: string, text: string) => {
    const target = new URLSearchParams(query);
    target.set('login', login);
    return `<li><a href="?${escapeHtml(target.toString())}">${escapeHtml(text)}</a></li>`;
  };
  const rows = persons.map(({ id, name, note }) => link(id, `${name} (${note})`));
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${STYLE}</style><h1>${escapeHtml(title)}</h1>
<p>This is a simulator. Who signs in?</p><ul>${rows.join('\n')}${link('cancel', 'Cancel')}</ul></html>`;
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
