import type { IncomingHttpHeaders } from 'node:http';

/** A request as a handler receives it. `params` are the decoded path parameters. */
export type Call = {
  method: string;
  path: string;
  params: Record<string, string>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: unknown;
};

/** A response; `body` is sent as JSON, a string unchanged, undefined as no body. */
export type Answer = { status: number; headers?: Record<string, string>; body?: unknown };

/** Thrown by a handler to reject a request in the platform's format. */
export class Rejection extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

/** A row of a simulator's table: `/:name` in the pattern is a path parameter. `limit` is the name of its rate limit. */
export type Route<Limit extends string = string> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  pattern: string;
  limit?: Limit;
  handle: (call: Call) => Answer;
};

/** A route below `/__`, which may take its time. */
export type Control = Omit<Route, 'handle'> & { handle: (call: Call) => Answer | Promise<Answer> };

export type Found<Row> = { route: Row; params: Record<string, string> } | { allow: string[] };

/** Only a name at the start of a segment is a parameter: `/universes/:universe:publishMessage` ends in a literal. */
const PARAMETER = /\/:(\w+)/g;

/** Returns the lookup function of a table: the route with its parameters, or the methods of the path (none: unknown path). */
export function createTable<Row extends Pick<Route, 'method' | 'pattern'>>(
  routes: Row[],
): (method: string, path: string) => Found<Row> {
  const rows = routes.map((route) => ({
    route,
    names: [...route.pattern.matchAll(PARAMETER)].map((match) => match[1] as string),
    expression: new RegExp(`^${route.pattern.replaceAll(PARAMETER, '/([^/]+)')}$`),
  }));
  return (method, path) => {
    const allow: string[] = [];
    for (const { route, names, expression } of rows) {
      const match = expression.exec(path);
      if (!match) continue;
      if (route.method !== method) allow.push(route.method);
      else return { route, params: Object.fromEntries(names.map((name, index) => [name, decode(match[index + 1])])) };
    }
    return { allow };
  };
}

/** Decodes percent-escapes; invalid escapes stay unchanged. */
export function decode(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A response with a body; default status 200. */
export function ok(body: unknown, status = 200): Answer {
  return { status, body };
}

/** A handler that responds with 204. */
export function done(act: (call: Call) => void): (call: Call) => Answer {
  return (call) => {
    act(call);
    return { status: 204 };
  };
}
