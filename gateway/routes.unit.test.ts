import { expect, test } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import { routesFor } from './routes.ts';

test('without BINDINGS_WRITE_SCOPE the route table is unchanged, and bindings require no scope', () => {
  expect(routesFor({ BINDINGS_WRITE_SCOPE: undefined })).toEqual(ROUTES);
  expect(new Set(ROUTES.filter(({ service }) => service === 'bindings').map(({ scope }) => scope))).toEqual(
    new Set([null]),
  );
});

test('with BINDINGS_WRITE_SCOPE add, update and remove require that scope, and no other route changes', () => {
  const routes = routesFor({ BINDINGS_WRITE_SCOPE: 'sync:write' });
  const changed = routes.filter((route, index) => route.scope !== ROUTES[index]?.scope);
  expect(changed.map(({ name, scope }) => [name, scope])).toEqual([
    ['addBinding', 'sync:write'],
    ['updateBinding', 'sync:write'],
    ['removeBinding', 'sync:write'],
  ]);
});
