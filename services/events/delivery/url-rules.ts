import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.ts';

/** The configured rules for webhook URLs. */
export interface UrlRules {
  allowHttp: boolean;
  addresses: AddressRules;
}

const MAX_URL_LENGTH = 2048;
const MAX_NAME_LENGTH = 253;
/** Host names after IDNA: labels of letters, digits, hyphens and underscores. */
const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/** A scheme, two slashes and a host, and no character that URL parsers skip or read differently. */
// oxlint-disable-next-line no-control-regex
const SHAPE = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\\s\u0000-\u0020\u007f]+(?:[/?#][^\\\s\u0000-\u0020\u007f]*)?$/i;
const MAX_RESERVED_PORT = 1023;
const MAX_FAULT_NAME = `must have a host name of at most ${MAX_NAME_LENGTH} characters`;

/**
 * Returns what is wrong with a webhook URL, as sentences without a subject, such as `must begin with https://`; an
 * empty list if nothing is. Names are not resolved; the connection checks their addresses.
 */
export function urlFaults(text: string, rules: UrlRules): string[] {
  if (text.length > MAX_URL_LENGTH) return [`must have at most ${MAX_URL_LENGTH} characters`];
  const url = SHAPE.test(text) ? URL.parse(text) : null;
  if (!url) return ['must be a URL such as https://example.com/path, without spaces and backslashes'];
  const faults: (string | false)[] = [
    protocolFault(url, rules),
    hasCredentials(text, url) && 'must not have a user or a password',
    text.includes('#') && 'must not have a fragment',
    !isPortAllowed(url) && `must have ${url.protocol === 'http:' ? 'port 80, 443' : 'port 443'} or a port above 1023`,
    hostFault(url, rules),
    url.href.length > MAX_URL_LENGTH && `must have at most ${MAX_URL_LENGTH} characters`,
  ];
  return faults.filter((fault) => fault !== false);
}

/**
 * Returns the form in which a URL without faults is stored and requested: the host name in lower case and as IDNA, the
 * path percent-encoded.
 */
export function normalisedUrl(text: string): string {
  return new URL(text).href;
}

function protocolFault({ protocol }: URL, { allowHttp }: UrlRules): string | false {
  if (protocol === 'https:' || (allowHttp && protocol === 'http:')) return false;
  return allowHttp ? 'must begin with https:// or http://' : 'must begin with https://';
}

/** True for a URL with a user or password, also for an empty one, which the URL parser drops. */
function hasCredentials(text: string, { username, password }: URL): boolean {
  const [authority = ''] = text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1);
  return username !== '' || password !== '' || authority.includes('@');
}

/** The default port is empty in a parsed URL: 443 for https, 80 for http. Port 80 is thus only possible with http. */
function isPortAllowed({ port, protocol }: URL): boolean {
  return port === '' || Number(port) > MAX_RESERVED_PORT || (port === '443' && protocol === 'http:');
}

/** The URL parser has already turned every spelling of an IP address, such as 0x7f.1, into the usual one. */
function hostFault({ hostname }: URL, { addresses }: UrlRules): string | false {
  const address = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(address) === 0) return !NAME.test(hostname) && MAX_FAULT_NAME;
  return !addresses.permits(address) && 'must not have the address of a private or reserved network';
}
