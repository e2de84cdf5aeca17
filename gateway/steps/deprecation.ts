import type { ServerResponse } from 'node:http';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';

/**
 * Adds the response headers of a deprecated route: since when, until when, and its replacement (RFC 9745, RFC 8594).
 */
export function announceDeprecation(route: Route, response: ServerResponse): void {
  if (!route.deprecated) return;
  const { since, sunset, replacement } = route.deprecated;
  response.setHeader('deprecation', `@${Date.parse(since) / 1000}`);
  response.setHeader('sunset', new Date(sunset).toUTCString());
  response.setHeader('link', `<${API_PREFIX}${replacement}>; rel="successor-version"`);
}
