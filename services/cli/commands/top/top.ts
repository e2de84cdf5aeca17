import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from '../../command.ts';

const DEFAULT_SECONDS = 2;
const MAX_SECONDS = 60;

const top: Command = {
  name: 'top',
  usage: '[--admin NAME=ADDRESS]… [--interval SECONDS] [--once | --times N]',
  notes: [
    '--admin NAME=ADDRESS  a process and its admin address (host:port); a host name stands for all replicas. The default',
    '                      is GUILDCTL_ADMIN, separated by commas, or else the system that runs on this machine',
    `--interval N          seconds between two views, ${DEFAULT_SECONDS} by default; rates are measured over this time`,
    '--once                print one view and exit; this is the default with --json and without a terminal',
    '--times N             print N views and exit',
  ],
  options: {
    admin: { type: 'string', multiple: true },
    interval: { type: 'string' },
    once: { type: 'boolean' },
    times: { type: 'string' },
  },
  run: async (input, connections, terminal) => {
    const seconds = input.wholeNumber('interval', { min: 1, max: MAX_SECONDS }) ?? DEFAULT_SECONDS;
    const times = input.wholeNumber('times', { min: 1, max: 1_000_000 });
    input.forbidBoth('once', 'times');
    const addresses = input.all('admin');
    input.check();
    // Loaded only here, because it needs all route tables, which no other command does.
    const [{ takeSamples, viewOf }, { viewText }] = await Promise.all([import('./sample.ts'), import('./view.ts')]);
    const processes = connections.processes(addresses);
    const isOnce = input.flag('once') || (times === undefined && terminal.redraw === undefined);
    let remaining = isOnce ? 1 : (times ?? Number.POSITIVE_INFINITY);
    const sampling = {
      now: Date.now,
      tokenFor: (process: string, path: string) => connections.pageToken(process, path),
    };
    let before = await takeSamples(processes, sampling);
    for (;;) {
      await wait(seconds * 1000);
      const after = await takeSamples(processes, sampling);
      const view = viewOf(before, after, Date.now());
      remaining--;
      if (remaining === 0) return { document: view, text: viewText(view) };
      terminal.redraw?.(viewText(view));
      before = after;
    }
  },
};

export const topCommands: readonly Command[] = [top];
