import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'deploy', 'operations', 'backup.md'), 'utf8');

/** The blocks of code of a section of the operators' page about backups, without their indentation. */
export function blocksOf(heading: string): string[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`backup.md has no section '${heading}'`);
  const blocks = [...section.matchAll(/^( *)```\n(.*?)\n *```$/gms)];
  return blocks.map(([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
}

/** The only command of the page that is within a sentence and begins with these words. */
export function inlineCommand(begin: string): string {
  const found = [...PAGE.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = '']) => (code.startsWith(begin) ? [code] : []));
  const [command, ...others] = found;
  if (command === undefined || others.length > 0)
    throw new Error(`backup.md has ${found.length} commands '${begin} …'`);
  return command;
}

/** The settings of a block of postgresql.conf. */
export function settingsIn(block: string): Record<string, string> {
  const lines = [...block.matchAll(/^(\w+) = (?:'([^']*)'|(\S+))/gm)];
  return Object.fromEntries(lines.map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']));
}
