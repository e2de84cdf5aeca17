import type { IncomingHttpHeaders } from 'node:http';

/** One call, as a handler sees it. `params` are the decoded parts of the path. */
export type Call = {
  method: string;
  path: string;
  params: Record<string, string>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: unknown;
};

/** An answer; without `body` it has none, and with a string it is that text as it stands. */
export type Answer = { status: number; headers?: Record<string, string>; body?: unknown };

/** Thrown by a handler that refuses a call in the platform's own form. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

/** A row of a simulator's table: `:name` in the pattern is one part of the path. `limit` names the limit it counts on. */
export type Route<Limit extends string = string> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  pattern: string;
  limit?: Limit;
  handle: (call: Call) => Answer;
};

export type Found = { route: Route; params: Record<string, string> } | { allow: string[] };

/** Makes the look-up of a table: the route and its parameters, or the methods that the path knows (none: unknown path). */
export function createTable(routes: Route[]): (method: string, path: string) => Found {
  const rows = routes.map((route) => ({
    route,
    names: [...route.pattern.matchAll(/:(\w+)/g)].map((match) => match[1] as string),
    expression: new RegExp(`^${route.pattern.replaceAll(/:\w+/g, '([^/]+)')}$`),
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

/** Decodes percent-escapes; what is no valid escape stays as it is. */
export function decode(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An answer with a body, 200 unless told otherwise. */
export function ok(body: unknown, status = 200): Answer {
  return { status, body };
}

/** A handler that acts and answers 204. */
export function done(act: (call: Call) => void): (call: Call) => Answer {
  return (call) => {
    act(call);
    return { status: 204 };
  };
}
