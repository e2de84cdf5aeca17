import { ROUTES } from '#proto/rest/index.ts';
import type { Route } from '#proto/rest/route.ts';
import { formatLuau } from '../format.ts';
import { groupOf } from './groups.ts';
import { indexModule, operationModule } from './operation-module.ts';

/** The routes that the module has a function for. A game server cannot read a stream; it polls `GET /events` instead. */
export const OPERATIONS: readonly Route[] = ROUTES.filter(({ eventStream }) => !eventStream);

/** Returns the generated files by their path below `src`. */
export function generateOperations(): Map<string, string> {
  const groups = Map.groupBy(OPERATIONS, groupOf);
  const names = [...groups.keys()].toSorted();
  const files = names.map((name): [string, string] => [
    `Operations/${name}.luau`,
    formatLuau(operationModule(name, groups.get(name) ?? [])),
  ]);
  return new Map([['Operations/init.luau', formatLuau(indexModule(names))], ...files]);
}
