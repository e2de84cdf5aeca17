import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { IMAGE } from './image.ts';
import { PROGRAMS, programFile } from './programs.ts';

/** Files that name programs of the image: as the arguments of a container, or after `node`. */
const COMMANDS = [
  'docker-compose.yml',
  'README.md',
  'charts/guild-data/README.md',
  'charts/guild-data/files/services.json',
  'charts/guild-data/templates/**/*.{yaml,tpl,txt}',
  'deploy/operations/*.md',
];

test('the Dockerfile configures the image as image.ts says', () => {
  const [, final = ''] = readFileSync(pathOf('deploy/docker/Dockerfile'), 'utf8').split('FROM ${BASE_IMAGE}\n');
  const { environment, workingDirectory, user, entrypoint, command, ports } = IMAGE;
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const instructions = final.split('\n').filter((line) => /^(?:WORKDIR|ENV|USER|EXPOSE|ENTRYPOINT|CMD) /.test(line));
  expect(instructions).toEqual([
    `WORKDIR ${workingDirectory}`,
    `ENV ${variables.join(' ')}`,
    `USER ${user}`,
    `EXPOSE ${ports.join(' ')}`,
    `ENTRYPOINT ${JSON.stringify(entrypoint)}`,
    `CMD ${JSON.stringify(command)}`,
  ]);
});

test('the chart, Compose and the documentation name only programs that the image has', () => {
  const named = globSync(COMMANDS, { cwd: pathOf('.') }).flatMap((file) => {
    const text = readFileSync(pathOf(file), 'utf8');
    return [...text.matchAll(/(?:node |\[|guild-data |")([\w-]+\.js)\b/g)].map(([, program]) => program);
  });
  const programs = Object.keys(PROGRAMS).map(programFile);
  expect(new Set(named)).toEqual(new Set(programs));
});

test('no container of the chart or of Compose runs a source file, of which the image has none', () => {
  const files = globSync(['docker-compose.yml', 'charts/guild-data/templates/**/*.yaml'], { cwd: pathOf('.') });
  expect(files.filter((file) => /(?:args|command): \[[^\]]*\.ts\b/.test(readFileSync(pathOf(file), 'utf8')))).toEqual(
    [],
  );
});
