/** The filters of the page in its URL; an empty text is no filter. */
export const FILTERS = ['tab', 'player', 'moderator', 'place', 'action', 'from', 'to'] as const;

export type Filters = Record<(typeof FILTERS)[number], string>;

export const TABS = ['bans', 'mutes', 'log', 'flagged'] as const;
export type TabName = (typeof TABS)[number];

/** The tab of the URL; the active bans if there is none. */
export const tabOf = ({ tab }: Filters): TabName => TABS.find((name) => name === tab) ?? 'bans';

/** The filters that each tab has. */
export const FILTERS_OF_TAB: Record<TabName, readonly (keyof Filters)[]> = {
  bans: ['player', 'place'],
  mutes: ['player', 'place'],
  log: ['player', 'moderator', 'action', 'from', 'to'],
  flagged: [],
};

/** True if a filter of this tab is set. */
export const isFiltered = (filters: Filters, tab: TabName): boolean =>
  FILTERS_OF_TAB[tab].some((name) => filters[name] !== '');

/** The start of a day as the date field writes it (`2026-11-23`), in the person's zone; undefined if it is no date. */
export function startOfDay(date: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined;
  const ms = new Date(`${date}T00:00:00`).getTime();
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1_000);
}

/** The last second of a day. A day may have 23 or 25 hours, so the next one decides. */
export function endOfDay(date: string): number | undefined {
  const start = startOfDay(date);
  if (start === undefined) return undefined;
  const next = new Date(start * 1_000);
  next.setDate(next.getDate() + 1);
  return Math.floor(next.getTime() / 1_000) - 1;
}
