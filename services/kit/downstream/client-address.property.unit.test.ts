import { expect, it } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { AddressList, clientAddress } from './client-address.ts';

const CASES = 100_000;
const SEED = Number(process.env['ADDRESS_SEED'] ?? amount(1, Date.now() % 2 ** 31));

/** An address as a number and its length in bits. IPv4-mapped IPv6 counts as IPv4. */
interface NumericAddress {
  bits: 32 | 128;
  value: bigint;
}

/** Parses an address by the grammar of RFC 4291 and of dotted decimals. */
function numberOf(text: string): NumericAddress | undefined {
  const four = dotted(text);
  if (four !== undefined) return { bits: 32, value: four };
  // The deprecated IPv4-compatible form must not be accepted as IPv4.
  if (text.startsWith('::') && dotted(text.slice(2)) !== undefined) return undefined;
  const halves = text.split('::');
  if (!text.includes(':') || halves.length > 2) return undefined;
  const groups = halves.map((half) => groupsOf(half));
  const [left, right] = groups;
  if (!left || groups.some((half) => half === undefined)) return undefined;
  const missing = 8 - left.length - (right?.length ?? 0);
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const all = [...left, ...Array<bigint>(missing).fill(0n), ...(right ?? [])];
  const value = all.reduce((sum, group) => (sum << 16n) | group, 0n);
  return value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value };
}

function groupsOf(half: string): bigint[] | undefined {
  if (half === '') return [];
  const parts = half.split(':');
  const groups: bigint[] = [];
  for (const [index, part] of parts.entries()) {
    const four = index === parts.length - 1 ? dotted(part) : undefined;
    if (four !== undefined) groups.push(four >> 16n, four & 0xffffn);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`));
    else return undefined;
  }
  return groups;
}

function dotted(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (part !== String(Number(part)) || !/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined;
    value = value * 256n + BigInt(part);
  }
  return value;
}

/** The network address of a CIDR and its prefix length. */
interface Prefix extends NumericAddress {
  length: bigint;
}

function prefixOf(entry: string): Prefix {
  const [address = '', given] = entry.split('/');
  const number = numberOf(address) as NumericAddress;
  const isMapped = address.includes(':') && number.bits === 32;
  const length = given === undefined ? number.bits : Number(given) - (isMapped ? 96 : 0);
  return { ...number, length: BigInt(length) };
}

const isWithin = ({ bits, value }: NumericAddress, prefix: Prefix) =>
  bits === prefix.bits && (value ^ prefix.value) >> (BigInt(bits) - prefix.length) === 0n;

function hopOf(text: string): NumericAddress | undefined {
  const hop = text.replace(/^[ \t]+|[ \t]+$/g, '');
  const port = /^(.*):\d{1,5}$/.exec(hop)?.[1];
  if (hop.startsWith('[')) {
    const inner = hop.endsWith(']') ? hop : port;
    return inner?.endsWith(']') ? numberOf(inner.slice(1, -1)) : undefined;
  }
  return numberOf(port !== undefined && /^[\d.]+$/.test(port) ? port : hop);
}

/** The client address by the rule of the contract: the first address from the right that is not a trusted proxy. */
function expected(socket: string, headers: readonly string[], trusted: readonly Prefix[]): NumericAddress | undefined {
  let current = numberOf(socket.split('%')[0] ?? '');
  const hops = headers.length === 0 ? [] : headers.join(', ').split(',');
  for (const hop of hops.toReversed()) {
    const seen = current;
    if (!seen || !trusted.some((prefix) => isWithin(seen, prefix))) return current;
    current = hopOf(hop);
  }
  return current;
}

const random = seededRandom(SEED);
const below = (limit: number) => wholeNumber(random, limit);
const pick = <Item>(list: readonly Item[]): Item => list[below(list.length)] as Item;
const chance = (share: number) => random() < share;

const PROXIES = ['10.0.0.0/8', '172.16.0.0/12', '192.168.3.4', '2001:db8::/32', 'fd00::/8', '::ffff:100.64.0.0/106'];
const NEAR = [
  '10.',
  '9.255.',
  '11.0.',
  '172.16.',
  '172.31.255.',
  '172.32.',
  '192.168.3.',
  '100.64.',
  '100.127.',
  '100.128.',
];

function four(): string {
  const start = chance(0.6) ? pick(NEAR) : '';
  const parts = start.split('.').filter(Boolean);
  while (parts.length < 4) parts.push(String(pick([0, 1, 4, 127, 255, below(256)])));
  return parts.join('.');
}

function six(): string {
  const start = pick(['2001:db8:', '2001:db9:', 'fd00:', 'fcff:', 'fe00:', '']);
  const parts = start.split(':').filter(Boolean);
  while (parts.length < 8)
    parts.push(
      below(0x10000)
        .toString(16)
        .padStart(chance(0.2) ? 4 : 1, '0'),
    );
  if (chance(0.5)) {
    const from = 1 + below(5);
    const rest = parts.slice(from + 1 + below(7 - from));
    return `${parts.slice(0, from).join(':')}::${rest.join(':')}`;
  }
  const text = parts.join(':');
  return chance(0.2) ? text.toUpperCase() : text;
}

function mapped(): string {
  const text = four();
  const hex = () => {
    const value = dotted(text) ?? 0n;
    return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  };
  const end = chance(0.5) ? text : hex();
  return (
    pick(['::ffff:', '::FFFF:', '0:0:0:0:0:ffff:', '0000::ffff:', '::', '64:ff9b::', '::fffe:', '::ffff:0:']) + end
  );
}

const MALFORMED = [
  '',
  'unknown',
  '_hidden',
  '10.1',
  '10.1.1',
  '1.2.3.4.5',
  '0x0a.1.1.1',
  '010.1.1.1',
  '10.1.1.256',
  '167772161',
];
const MORE = [
  'fe80::1%eth0',
  '1::2::3',
  ':::',
  ':1',
  '1:',
  '12345::',
  'g::1',
  '[10.1.1.1',
  '10.1.1.1]',
  '[::1',
  '::1]',
  '1:2:3:4:5:6:7',
  '"10.1.1.1"',
  'for=10.1.1.1',
];

const address = () => pick([four, four, six, mapped])();

function hop(): string {
  const kind = random();
  if (kind < 0.06) return pick([...MALFORMED, ...MORE]);
  if (kind < 0.12) {
    const text = address();
    const at = below(text.length + 1);
    return (
      text.slice(0, at) + pick([':', '.', ' ', '0', 'f', '/8', '%', '-', '\u00a0', '']) + text.slice(at + below(2))
    );
  }
  if (kind < 0.2) return `${four()}:${below(100_000)}`;
  if (kind < 0.28) return `[${address()}]${chance(0.5) ? `:${below(100_000)}` : ''}`;
  return address();
}

/** The address of a socket. Mostly a trusted proxy, because otherwise X-Forwarded-For would be ignored. */
function peer(): string {
  const kind = random();
  if (kind < 0.02) return pick([...MALFORMED, 'fe80::1%eth0']);
  if (kind < 0.6)
    return pick(['10.1.2.3', '::ffff:10.9.9.9', '2001:db8::7', '192.168.3.4', '::ffff:6440:1', 'fd00::1']);
  return chance(0.3) ? mapped() : address();
}

const spaced = (text: string) => pick(['', '', ' ', '\t', '  ']) + text + pick(['', '', ' ', '\t']);
const header = () => Array.from({ length: 1 + below(4) }, () => spaced(hop())).join(',');

it(`the client address equals that of a reference implementation in ${CASES} random cases`, {
  timeout: 120_000,
}, () => {
  const list = new AddressList(PROXIES);
  const prefixes = PROXIES.map(prefixOf);
  const seen = { none: 0, found: 0, forwarded: 0 };
  for (let count = 0; count < CASES; count += 1) {
    const socket = peer();
    const headers = Array.from({ length: below(4) }, header);
    const wanted = expected(socket, headers, prefixes);
    // Node joins several headers of the same name.
    const found = clientAddress(socket, headers.length === 0 ? undefined : headers.join(', '), list);
    const actual = found && {
      bits: found.kind() === 'ipv4' ? 32 : 128,
      value: found.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n),
    };
    if (actual?.value !== wanted?.value || actual?.bits !== wanted?.bits) {
      throw new Error(
        `seed ${SEED}: ${JSON.stringify({ socket, headers, found: found?.toString() })}, not ${wanted?.value}`,
      );
    }
    seen[wanted ? 'found' : 'none'] += 1;
    if (wanted && wanted.value !== numberOf(socket)?.value) seen.forwarded += 1;
  }
  printFigure('client addresses', `${CASES} cases, seed ${SEED}: ${JSON.stringify(seen)}`);
  expect(Object.values(seen).every((count) => count > CASES / 20)).toBe(true);
});
