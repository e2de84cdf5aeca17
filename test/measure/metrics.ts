import type { RunningService } from '#kit/service/service.ts';

/** What a process's metrics say now: the value of a line, named with its labels; undefined where there is none. */
export async function scrape({ addresses }: Pick<RunningService, 'addresses'>) {
  const text = await (await fetch(`http://${addresses.admin}/metrics`)).text();
  const values = new Map(text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line]));
  return (name: string): number | undefined => {
    const line = values.get(name);
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
  };
}
