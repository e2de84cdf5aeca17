import type { HeaderList } from '#kit/http/response-headers.ts';

const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ');

const UNUSED_FEATURES = ['camera', 'geolocation', 'microphone', 'payment', 'usb'];
const YEAR_SECONDS = 365 * 24 * 3600;

/** Returns the security headers of every response. Browsers ignore HSTS over plain HTTP, so it is only sent over HTTPS. */
export function securityHeaders(consoleUrl: string): Readonly<HeaderList> {
  const headers = [
    ['content-security-policy', POLICY],
    ['x-frame-options', 'DENY'],
    ['x-content-type-options', 'nosniff'],
    ['referrer-policy', 'no-referrer'],
    ['permissions-policy', UNUSED_FEATURES.map((name) => `${name}=()`).join(', ')],
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
  ];
  if (consoleUrl.startsWith('https:')) headers.push(['strict-transport-security', `max-age=${YEAR_SECONDS}`]);
  return headers.flat();
}
