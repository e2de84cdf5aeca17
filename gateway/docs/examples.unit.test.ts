import { Config, formatCode, LuaVersion, OutputVerification } from '@johnnymorganz/stylua';
import { describe, expect, test } from 'vitest';
import { type Example, examplesOf, LANGUAGES, type Language } from './examples.ts';
import { pages } from './fixture.ts';
import { GUIDES, guidePath } from './guides.ts';
import { unescapeHtml } from './html.ts';

/** Examples that a language cannot have: game servers receive no requests and read no streams, and a shell does not listen. */
const MISSING = ['webhooks/01-receive.sh', 'webhooks/01-receive.luau', 'webhooks/06-stream.luau'];

const languages = Object.keys(LANGUAGES) as Language[];

function examples(): [name: string, guide: (typeof GUIDES)[number], example: Example][] {
  return GUIDES.flatMap((guide) =>
    [...examplesOf(guide)].map(([name, example]): [string, (typeof GUIDES)[number], Example] => [
      `${guide}/${name}`,
      guide,
      example,
    ]),
  );
}

describe.each(examples())('%s', (name, guide, example) => {
  test('is shown on the page of its guide, in every language that can have it', () => {
    const page = unescapeHtml(pages.get(guidePath(guide)) ?? '');
    for (const code of Object.values(example)) expect(page).toContain(code);
    const missing = languages.filter((language) => example[language] === undefined);
    expect(missing.map((language) => `${name}.${language}`).filter((file) => !MISSING.includes(file))).toEqual([]);
  });

  test('is formatted, and has no line that is wider than a page', () => {
    const config = Config.new();
    config.syntax = LuaVersion.Luau;
    const luau = example.luau ?? '';
    expect(formatCode(luau, config, null, OutputVerification.None).trimEnd()).toBe(luau);
    const wide = Object.values(example).flatMap((code) => code.split('\n').filter((line) => line.length > 120));
    expect(wide).toEqual([]);
  });
});
