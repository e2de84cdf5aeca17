export type Reply = { status: number; headers: Headers; body: unknown };
type Options = { method?: string; headers?: Record<string, string>; body?: unknown };

/** Sends a request to a simulator and parses the JSON response; an empty body is undefined. */
export async function call(url: string, { method = 'GET', headers = {}, body }: Options = {}): Promise<Reply> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(url, { method, headers: { 'content-type': 'application/json', ...headers }, ...json });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}
