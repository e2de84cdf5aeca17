import { expect, test } from 'vitest';
import { createLog } from '#kit/telemetry/log.ts';
import { RUNBOOKS } from './monitoring.ts';
import { readText } from './sources.ts';

test.each([RUNBOOKS, 'deploy/operations/incident.md'])(
  'what %s greps logs for is on each line of a fault, and on no other',
  async (path) => {
    const [, pattern = ''] = /grep -E '([^']+)'/.exec(readText(path)) ?? [];
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const log = await createLog({ service: 'members', level: 'trace', destination });
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log[level](level);
    const found = lines.filter((line) => new RegExp(pattern).test(line)).map((line) => JSON.parse(line).msg);
    expect(found).toEqual(['error', 'fatal']);
  },
);
