import { Page } from '#services/cli/commands/top/exposition.ts';

/** One series of a process: its name, and its labels. */
export interface Series {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** All series that the admin listener at `host:port` shows. */
export async function scrapeSeries(address: string): Promise<Series[]> {
  const page = await scrapePage(address);
  return page.names.flatMap((name) => page.lines(name).map((line) => ({ name, ...line })));
}

/** What the admin listener at `host:port` shows now. */
export async function scrapePage(address: string): Promise<Page> {
  return new Page(await (await fetch(`http://${address}/metrics`)).text(), Date.now());
}
