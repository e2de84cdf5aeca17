import { DEPLOYABLES } from '#local/processes.ts';

/** The programs of the image besides the processes that serve requests, by name, with their paths in the repository. */
const TOOLS = {
  migrate: 'deploy/migrate.ts',
  'wait-for-schema': 'deploy/wait-for-schema.ts',
  check: 'deploy/check.ts',
  guildctl: 'services/cli/main.ts',
  simulators: 'deploy/local/simulators/main.ts',
} as const;

/** Every program of the image by name, with its path in the repository. In the image it is the file `<name>.js`. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(DEPLOYABLES.map(({ name, main }) => [name, main])),
  ...TOOLS,
};

/** The file of a program in the working directory of the image. */
export const programFile = (name: string): string => `${name}.js`;
