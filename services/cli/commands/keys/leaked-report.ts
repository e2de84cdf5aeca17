import { type ApiKey, readApiKey } from '#kit/security/api-key.ts';

/**
 * An API key in a secret scanner's report, and the place where it was found; `url` and `source` are empty if the report
 * does not name them.
 */
export interface LeakedKey {
  key: ApiKey;
  url: string;
  source: string;
}

type Place = Pick<LeakedKey, 'url' | 'source'>;

/** The pattern of API keys, as documented for secret scanners in services/auth/domain/key-format.md. */
const KEY = /(?<![0-9A-Za-z_])service_[1-9][0-9]{16,19}_[0-9A-Za-z]{38}(?![0-9A-Za-z_])/g;
const URL_PATTERN = /https?:\/\/[^\s"'<>]+/;
const MAX_URL_LENGTH = 1_000;
const MAX_SOURCE_LENGTH = 100;

/**
 * Returns the API keys in a secret scanner's report: a JSON array or lines of JSON objects such as `{token, type, url,
 * source}`, or lines of text. A key may be anywhere in an object or a line. Texts with a wrong checksum are ignored,
 * and so are duplicates with the same URL.
 */
export function readReport(text: string): LeakedKey[] {
  const found = keysInReport(text);
  return [...new Map(found.map((leaked) => [`${leaked.key.hashText} ${leaked.url}`, leaked])).values()];
}

function keysInReport(text: string): LeakedKey[] {
  const report = parseJson(text);
  if (report !== undefined) return keysInJson(report);
  return text.split('\n').flatMap((line) => {
    const parsed = parseJson(line);
    return parsed === undefined ? keysInText(line, { url: urlIn(line), source: '' }) : keysInJson(parsed);
  });
}

/** Returns the API keys in a JSON object or in each item of a JSON array. */
function keysInJson(json: unknown): LeakedKey[] {
  const items: unknown[] = Array.isArray(json) ? json : [json];
  return items.flatMap((item) => keysInText(JSON.stringify(item), placeOf(item)));
}

function placeOf(item: unknown): Place {
  const { url, source } = Object(item) as Record<string, unknown>;
  return {
    url: typeof url === 'string' ? url.slice(0, MAX_URL_LENGTH) : '',
    source: typeof source === 'string' ? source.slice(0, MAX_SOURCE_LENGTH) : '',
  };
}

const urlIn = (line: string) => (URL_PATTERN.exec(line)?.[0] ?? '').slice(0, MAX_URL_LENGTH);

function keysInText(text: string, { url, source }: Place): LeakedKey[] {
  return (text.match(KEY) ?? []).flatMap((candidate) => {
    const key = readApiKey(candidate);
    if (!key) return [];
    // The URL may contain the API key itself, which must not be sent or printed.
    const redact = (place: string) => place.replaceAll(candidate, key.prefix);
    return [{ key, url: redact(url), source: redact(source) }];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
