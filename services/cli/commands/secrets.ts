import { randomBytes } from 'node:crypto';
import { internalKeysOf } from '#kit/security/process-keys.ts';
import { KEY_HOLDERS } from '#kit/security/purposes.ts';
import type { Command, Input } from '../command.ts';

/** The value of the variable INTERNAL_KEYS for each process, by the name of the process. */
type KeysByProcess = Readonly<Record<string, string>>;

const FORMATS: Record<string, (keys: KeysByProcess, prefix: string) => string> = {
  env: (keys) =>
    Object.entries(keys)
      .map(([name, text]) => `# ${name}\nINTERNAL_KEYS=${text}`)
      .join('\n'),
  compose: (keys) =>
    Object.entries(keys)
      .map(([name, text]) => `${name.toUpperCase()}_INTERNAL_KEYS=${text}`)
      .join('\n'),
  kubernetes: (keys, prefix) =>
    Object.entries(keys)
      .map(([name, text]) => secretManifest(`${prefix}-${name}`, text))
      .join('---\n')
      .trimEnd(),
};

const DEFAULT_PREFIX = 'guild-data-keys';
/** The pattern of a prefix for names in Kubernetes; it leaves space for the longest name of a process. */
const PREFIX = /^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/;

const generate: Command = {
  name: 'secrets generate',
  usage: '',
  notes: ['Prints them as variables. Store them where no process that serves requests can read them.'],
  options: {},
  run: async (input) => {
    input.check();
    const document = { INTERNAL_SECRETS: newSecret(), ADMIN_SECRETS: newSecret() };
    const lines = Object.entries(document).map(([name, value]) => `${name}=${value}`);
    return { document, text: lines.join('\n') };
  },
};

const derive: Command = {
  name: 'secrets derive',
  usage: '[--process NAME] [--format env|compose|kubernetes] [--prefix NAME]',
  notes: [
    'Reads both variables: one secret, or two separated by a comma, of which the first signs. It calls no service.',
    `--process NAME  one of ${KEY_HOLDERS.join(', ')}; all by default`,
    '--format        env (default): INTERNAL_KEYS of each process; compose: lines for .env of docker-compose.yml;',
    '                kubernetes: a Secret for each process, for `kubectl apply -f -`',
    `--prefix NAME   the prefix of the names of these Secrets; ${DEFAULT_PREFIX} by default`,
  ],
  options: {
    process: { type: 'string' },
    format: { type: 'string' },
    prefix: { type: 'string' },
  },
  run: async (input, connections) => {
    const names = readProcesses(input);
    const format = input.text('format') ?? 'env';
    if (!Object.hasOwn(FORMATS, format)) input.fault(`--format must be one of ${Object.keys(FORMATS).join(', ')}`);
    const prefix = input.text('prefix') ?? DEFAULT_PREFIX;
    if (!PREFIX.test(prefix))
      input.fault('--prefix must be a name of at most 52 lower-case letters, digits and hyphens');
    input.check();
    const roots = connections.roots();
    const keys = Object.fromEntries(names.map((name) => [name, internalKeysOf(name, roots)]));
    return { document: keys, text: FORMATS[format]?.(keys, prefix) ?? '' };
  },
};

function readProcesses(input: Input): readonly string[] {
  const given = input.text('process');
  if (given === undefined) return KEY_HOLDERS;
  if (!KEY_HOLDERS.includes(given)) input.fault(`--process must be one of ${KEY_HOLDERS.join(', ')}`);
  return [given];
}

const newSecret = () => randomBytes(48).toString('base64url');

function secretManifest(name: string, keys: string): string {
  return `apiVersion: v1
kind: Secret
metadata:
  name: ${name}
type: Opaque
stringData:
  internal-keys: "${keys}"
`;
}

export const secretCommands: readonly Command[] = [generate, derive];
