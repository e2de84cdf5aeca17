export type DemoCall = { key: string; method?: string; headers?: Record<string, string>; body?: object };

const TIMEOUT_MS = 20_000;

/** Sends a request with a key, and JSON if there is a body; a request with a body is a POST unless `method` says otherwise. */
export async function call(
  url: string,
  { key, method, headers, body }: DemoCall,
): Promise<{ status: number; text: string }> {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { 'X-API-Key': key, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, text: await response.text() };
}
