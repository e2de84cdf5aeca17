import { expect, test } from 'vitest';
import { html } from './html.ts';
import { markdown } from './markdown.ts';

const render = (text: string) =>
  markdown(text)
    .map((part) => part.text)
    .join('');

test('headings, paragraphs and lists, whose items may have several lines', () => {
  expect(render('# One\n\nA text\nin two lines\n\n## Two, too\n- a\n  b\n- c\n\n### Three')).toBe(
    '<h1>One</h1>\n<p>A text\nin two lines</p>\n<h2 id="two-too">Two, too</h2>\n<ul><li>a\nb</li>\n<li>c</li>\n</ul>\n<h3>Three</h3>\n',
  );
  expect(render('1. a\n2. b')).toBe('<ol><li>a</li>\n<li>b</li>\n</ol>\n');
});

test('code, bold text and links', () => {
  expect(render('**To `x`**: [a `b`](/docs#c), `**d** [e](/f)`')).toBe(
    '<p><b>To <code>x</code></b>: <a href="/docs#c">a <code>b</code></a>, <code>**d** [e](/f)</code></p>\n',
  );
  expect(render('[a](javascript:alert)')).toBe('<p>[a](javascript:alert)</p>\n');
});

test('fenced code is not changed, except that it is escaped', () => {
  expect(render('```\n# a\n\n- <b>\n```\nc')).toBe('<pre><code># a\n\n- &lt;b&gt;</code></pre>\n<p>c</p>\n');
});

test('each cell of a table has the name of its column', () => {
  expect(render('| a `b` | c |\n|---|---|\n| 1 | <2> |')).toBe(
    `<table><thead><tr><th scope="col">a <code>b</code></th><th scope="col">c</th></tr></thead>
<tbody><tr><td data-name="a b">1</td><td data-name="c">&lt;2&gt;</td></tr>\n</tbody></table>\n`,
  );
});

test('lines that begin with @ are rendered by the caller', () => {
  const [, found] = markdown('a\n@example x\nb', { directive: (line) => html`<i>${line}</i>` });
  expect(found?.text).toBe('<i>@example x</i>');
});
