const NO_CONTENT = 204;

/** Returns the options of a fetch call that requests JSON and sends the body, if there is one: a form or JSON. */
export function jsonRequest(
  headers: Record<string, string> = {},
  body?: unknown,
): Pick<RequestInit, 'headers' | 'body'> {
  const all = { accept: 'application/json', ...headers };
  if (body === undefined) return { headers: all };
  // Fetch adds the content type of a form.
  if (body instanceof URLSearchParams || body instanceof FormData) return { headers: all, body };
  return { headers: { ...all, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/**
 * Returns the parsed JSON of a response; undefined for a 204 and for a 429 with an unreadable body. Throws for a 5xx,
 * for invalid JSON and for more than `maxBytes`.
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

/** Parses JSON. The parser's own error is replaced, because it quotes the response, which must not be logged. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`the response of ${text.length} characters is not JSON`);
  }
}
