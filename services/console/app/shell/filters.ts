import { useLocation } from 'preact-iso';

/** The filters of a page, which are in the query of its URL so that a link to the page has them. */
export function useFilters<Name extends string>(
  names: readonly Name[],
): [Record<Name, string>, (change: Partial<Record<Name, string>>) => void] {
  const { query, path, route } = useLocation();
  const filters = Object.fromEntries(names.map((name) => [name, query[name] ?? ''])) as Record<Name, string>;
  const change = (changed: Partial<Record<Name, string>>) => {
    const next = Object.entries({ ...query, ...changed }).filter(([, value]) => value !== undefined && value !== '');
    const search = new URLSearchParams(next).toString();
    // Replaces the entry in the history: the back button leaves the page instead of undoing letters of a search.
    route(search === '' ? path : `${path}?${search}`, true);
  };
  return [filters, change];
}
