import { type ApiKey, readApiKey } from '#kit/security/api-key.ts';

/** A key of a scanner's report, and where it was found; empty where the report does not say. */
export interface Finding {
  key: ApiKey;
  url: string;
  source: string;
}

/** Key-format.md: what secret scanners search for. */
const KEY = /(?<![0-9A-Za-z_])service_[1-9][0-9]{16,19}_[0-9A-Za-z]{38}(?![0-9A-Za-z_])/g;
const URL_SHAPE = /https?:\/\/[^\s"'<>]+/;
const MAX_URL = 1_000;
const MAX_SOURCE = 100;

/**
 * The keys in a scanner's report: a JSON array or lines of JSON objects such as `{token, type, url, source}`, or plain
 * lines. Wherever in an object or line a key stands, it counts; what has no checksum of a key does not. The same key with
 * the same place counts once.
 */
export function readReport(text: string): Finding[] {
  const found = findingsOf(text);
  return [...new Map(found.map((finding) => [`${finding.key.hashText} ${finding.url}`, finding])).values()];
}

function findingsOf(text: string): Finding[] {
  const whole = parseJson(text);
  if (whole !== undefined) return [whole].flat().flatMap(objectFindings);
  return text.split('\n').flatMap((line) => {
    const parsed = parseJson(line);
    return parsed === undefined ? textFindings(line, place(line)) : [parsed].flat().flatMap(objectFindings);
  });
}

function objectFindings(value: unknown): Finding[] {
  if (typeof value !== 'object' || value === null) return textFindings(JSON.stringify(value), place(''));
  const { url, source } = value as Record<string, unknown>;
  const where = {
    url: typeof url === 'string' ? url.slice(0, MAX_URL) : '',
    source: typeof source === 'string' ? source.slice(0, MAX_SOURCE) : '',
  };
  return textFindings(JSON.stringify(value), where);
}

const place = (line: string) => ({ url: (URL_SHAPE.exec(line)?.[0] ?? '').slice(0, MAX_URL), source: '' });

function textFindings(text: string, where: { url: string; source: string }): Finding[] {
  return (text.match(KEY) ?? []).flatMap((shaped) => {
    const key = readApiKey(shaped);
    // A URL may hold the key itself, which goes nowhere.
    const url = where.url.includes(shaped) ? where.url.replaceAll(shaped, key?.prefix ?? '') : where.url;
    return key ? [{ key, source: where.source.replaceAll(shaped, key.prefix), url }] : [];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
