import type { RunningService } from '#kit/service/service.ts';

/** Reads a process's metrics. The result maps a name with labels to its value; undefined if there is no such line. */
export async function scrape({ addresses }: Pick<RunningService, 'addresses'>) {
  const text = await (await fetch(`http://${addresses.admin}/metrics`)).text();
  const values = new Map(text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line]));
  return (name: string): number | undefined => {
    const line = values.get(name);
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
  };
}
