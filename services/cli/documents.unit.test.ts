import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { COMMAND_FILES } from './commands.ts';

const DOCUMENTS = globSync(
  [
    'README.md',
    'UPGRADING.md',
    'charts/guild-data/README.md',
    'charts/guild-data/templates/NOTES.txt',
    'deploy/{operations,prometheus}/*.md',
    'docker-compose.yml',
    'services/cli/README.md',
  ],
  { cwd: pathOf('.') },
);
/** Options of every command. */
const COMMON = ['json', 'help'];
/** A command line, up to the end of the line or of the code in it; `code` shows that it is no sentence. */
const LINE = /(?<code>`|-s |node |IMAGE |guild-data |guildctl )?guildctl(?:\.js)?(?: --)? (?<words>[a-z][^`|<>;\n]*)/g;

const commands = new Map(
  (await Promise.all(COMMAND_FILES.map(({ load }) => load()))).flat().map((command) => [command.name, command]),
);
const firstWords = [...commands.keys()].map((name) => name.split(' ')[0]);

/** What is wrong with a command line; undefined if nothing is, or if it is a sentence. */
function faultOf(line: string, isCode: boolean): string | undefined {
  const words = line.trim().split(/\s+/);
  if (!isCode && !firstWords.includes(words[0])) return undefined;
  const names = words.map((_, index) => words.slice(0, index + 1).join(' '));
  const command = commands.get(names.findLast((name) => commands.has(name)) ?? '');
  if (!command) return `${line}: no such command`;
  const options = [...line.matchAll(/ --([a-z][a-z-]*)/g)].map(([, name = '']) => name);
  const unknown = options.filter((name) => !COMMON.includes(name) && !(name in command.options));
  return unknown.length > 0 ? `${line}: no option ${unknown.join(', ')}` : undefined;
}

test.each(DOCUMENTS)('%s shows only commands and options that guildctl has', (document) => {
  const lines = [...readFileSync(pathOf(document), 'utf8').matchAll(LINE)];
  const faults = lines.map(({ groups }) => faultOf(groups?.['words'] ?? '', groups?.['code'] !== undefined));
  expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
});

test('a misspelt command and an unknown option are found', () => {
  expect(faultOf('keys lst --guild 1', false)).toContain('no such command');
  expect(faultOf('key list', true)).toContain('no such command');
  expect(faultOf('keys list --gild 1', false)).toContain('no option gild');
  expect(faultOf('calls no service', false)).toBeUndefined();
});
