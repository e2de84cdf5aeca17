const NO_CONTENT = 204;

/** Requests JSON and, where there is a body, sends it as JSON. */
export function jsonRequest(
  headers: Record<string, string> = {},
  body?: unknown,
): Pick<RequestInit, 'headers' | 'body'> {
  const all = { accept: 'application/json', ...headers };
  if (body === undefined) return { headers: all };
  return { headers: { ...all, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/**
 * The parsed JSON of a response; undefined for a 204 and for a 429 with an unreadable body. Throws for a 5xx, for
 * invalid JSON and for more than `maxBytes`.
 */
export async function readJsonBody(response: Response, maxBytes: number): Promise<unknown> {
  if (response.status === 429) return readJson(response, maxBytes).catch(() => undefined);
  if (response.status >= 500) await response.body?.cancel();
  if (response.status === NO_CONTENT) return undefined;
  if (response.status >= 500) throw new Error(`the platform responded with ${response.status}`);
  return readJson(response, maxBytes);
}

async function readJson(response: Response, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`the response is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString('utf8'));
}

/** The parser's own error would quote the response, which must not be logged. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`the response of ${text.length} characters is not JSON`);
  }
}
