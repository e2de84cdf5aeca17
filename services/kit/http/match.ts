import type { Route } from '#proto/rest/route.ts';
import { ApiError, methodNotAllowed } from '../errors.ts';

interface Node {
  literals: Map<string, Node>;
  parameter?: Node;
  /** The routes whose path ends at this node of the tree of path segments, by HTTP method. */
  routes: Map<string, { route: Route; parameters: readonly Parameter[] }>;
}

/** A parameter of a path, such as `:guildId`, and the index of its segment. */
interface Parameter {
  name: string;
  index: number;
}

export interface Match {
  route: Route;
  /** The decoded values of the parameters in the request's path. */
  params: Readonly<Record<string, string>>;
}

const NOT_FOUND = new ApiError('ROUTE_NOT_FOUND');

const newNode = (): Node => ({ literals: new Map(), routes: new Map() });

/** Finds the route of a request, path segment by path segment. Paths are strict and case-sensitive. */
export class Matcher {
  readonly #root = newNode();
  readonly #prefix: string;

  constructor(routes: readonly Route[], prefix: string) {
    this.#prefix = prefix;
    for (const route of routes) this.#add(route, route.path.split('/'));
  }

  /**
   * Returns the route of a request, or ROUTE_NOT_FOUND, or METHOD_NOT_ALLOWED with the methods that the path supports.
   * Throws a URIError if a parameter has an invalid percent-escape.
   */
  match(method: string, path: string): Match | ApiError {
    const segments = this.#segmentsOf(path);
    const node = segments && find(this.#root, segments, 0);
    if (!node) return NOT_FOUND;
    const found = node.routes.get(method === 'HEAD' ? 'GET' : method);
    if (!found) return methodNotAllowed([...node.routes.keys()]);
    const params: Record<string, string> = {};
    for (const { name, index } of found.parameters) params[name] = decodeURIComponent(segments[index] as string);
    return { route: found.route, params };
  }

  /** Returns the HTTP methods that a path supports, or undefined if no route has this path. */
  methodsOf(path: string): string[] | undefined {
    const segments = this.#segmentsOf(path);
    const node = segments && find(this.#root, segments, 0);
    return node && [...node.routes.keys()];
  }

  /** Returns the path segments after the API's prefix, or undefined for a path without the prefix. */
  #segmentsOf(path: string): string[] | undefined {
    return path.startsWith(this.#prefix) ? path.slice(this.#prefix.length).split('/') : undefined;
  }

  #add(route: Route, segments: string[]): void {
    let node = this.#root;
    for (const segment of segments) {
      if (segment.startsWith(':')) {
        node.parameter ??= newNode();
        node = node.parameter;
      } else {
        const next = node.literals.get(segment) ?? newNode();
        node.literals.set(segment, next);
        node = next;
      }
    }
    node.routes.set(route.method, { route, parameters: parametersOf(segments) });
  }
}

function parametersOf(segments: readonly string[]): Parameter[] {
  return segments.flatMap((segment, index) => (segment.startsWith(':') ? [{ name: segment.slice(1), index }] : []));
}

function find(node: Node, segments: readonly string[], index: number): Node | undefined {
  if (index === segments.length) return node.routes.size > 0 ? node : undefined;
  const segment = segments[index] as string;
  const literal = node.literals.get(segment);
  const found = literal && find(literal, segments, index + 1);
  if (found || !node.parameter || segment === '') return found;
  return find(node.parameter, segments, index + 1);
}
