import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from '../command.ts';
import { takeSamples, viewOf } from './top/sample.ts';
import { viewText } from './top/view.ts';

const USUAL_SECONDS = 2;
const LONGEST_SECONDS = 60;

const top: Command = {
  name: 'top',
  summary: 'what every process does now, and the busiest and most refused keys of the last minute',
  usage: '[--admin NAME=ADDRESS]… [--interval SECONDS] [--once | --times N]',
  notes: [
    '--admin NAME=ADDRESS  a process and its admin address (host:port), where a name of a host stands for every replica;',
    '                      else those of GUILDCTL_ADMIN, parted by commas, else those of the system that runs here',
    `--interval N          seconds between two views, ${USUAL_SECONDS} unless given; rates are those in between`,
    '--once                one view and no more, as also where there is no terminal, and with --json',
    '--times N             so many views',
  ],
  options: {
    admin: { type: 'string', multiple: true },
    interval: { type: 'string' },
    once: { type: 'boolean' },
    times: { type: 'string' },
  },
  run: async (input, connections, screen) => {
    const seconds = input.wholeNumber('interval', { min: 1, max: LONGEST_SECONDS }) ?? USUAL_SECONDS;
    const times = input.wholeNumber('times', { min: 1, max: 1_000_000 });
    input.notBoth('once', 'times');
    const given = input.all('admin');
    input.check();
    const processes = connections.processes(given);
    const isOnce = input.flag('once') || (times === undefined && screen.redraw === undefined);
    let left = isOnce ? 1 : (times ?? Number.POSITIVE_INFINITY);
    const sampling = { now: Date.now, tokenFor: connections.pageToken.bind(connections) };
    let before = await takeSamples(processes, sampling);
    for (;;) {
      await wait(seconds * 1000);
      const after = await takeSamples(processes, sampling);
      const view = viewOf(before, after, Date.now());
      left--;
      if (left === 0) return { document: view, text: viewText(view) };
      screen.redraw?.(viewText(view));
      before = after;
    }
  },
};

export const topCommands: readonly Command[] = [top];
