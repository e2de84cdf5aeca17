import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf } from '#kit/files.ts';
import { type Html, html } from './html.ts';

/** The languages of examples, in the order of their tabs. The key is the extension of example files. */
export const LANGUAGES = { sh: 'curl', luau: 'Luau', ts: 'TypeScript' } as const;

export type Language = keyof typeof LANGUAGES;

/** The code of one example in each language that has it. */
export type Example = Partial<Record<Language, string>>;

/** The folder of the example files: `<guide>/NN-name.<language>`. */
export const EXAMPLES_FOLDER = pathOf('gateway/docs/examples');

const LANGUAGE_NAMES = Object.keys(LANGUAGES) as Language[];

/** Returns the examples of a guide by name, in the order in which they are run. */
export function examplesOf(guide: string): Map<string, Example> {
  const folder = join(EXAMPLES_FOLDER, guide);
  const examples = new Map<string, Example>();
  for (const file of readdirSync(folder).sort()) {
    const [name = '', language = ''] = file.split('.');
    if (!LANGUAGE_NAMES.includes(language as Language)) throw new Error(`${guide}/${file} is no example`);
    const example = examples.get(name) ?? {};
    examples.set(name, { ...example, [language]: readFileSync(join(folder, file), 'utf8').trimEnd() });
  }
  return examples;
}

/** Numbers the groups of tabs of a page, because the radio buttons of each group need a name of their own. */
export class Tabs {
  #count = 0;

  /**
   * Renders an example with a tab for each language. The tabs are radio buttons: the style sheet shows the code of the
   * checked one, without a script. `file` is the name of the example's files, without the extension.
   */
  render(title: string, example: Example, file?: string): Html {
    this.#count += 1;
    const group = `example-${this.#count}`;
    const given = LANGUAGE_NAMES.filter((language) => example[language] !== undefined);
    const tabs = given.map(
      (
        language,
        index,
      ) => html`<input type="radio" name="${group}" id="${group}-${language}"${index === 0 ? html` checked` : undefined}>
<label for="${group}-${language}">${LANGUAGES[language]}</label>
`,
    );
    const panels = given.map(
      (language) => html`<pre class="call" tabindex="0"><code>${example[language]}</code></pre>\n`,
    );
    return html`<fieldset class="tabs"><legend>${title}${file && html` <code>${file}</code>`}</legend>
${tabs}${panels}</fieldset>
`;
  }
}
