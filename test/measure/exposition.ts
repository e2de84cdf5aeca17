import { Page } from '#services/cli/commands/top/exposition.ts';

/** One time series of a process. */
export interface Series {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** All time series that the admin listener at `host:port` exposes. */
export async function scrapeSeries(address: string): Promise<Series[]> {
  const page = await scrapePage(address);
  return page.names.flatMap((name) => page.lines(name).map((line) => ({ name, ...line })));
}

/** The metrics that the admin listener at `host:port` exposes now. */
export async function scrapePage(address: string): Promise<Page> {
  return new Page(await (await fetch(`http://${address}/metrics`)).text(), Date.now());
}
