import { afterAll, beforeAll, expect, it } from 'vitest';
import { printFigure } from '../measure/figures.ts';
import { wire } from '../network/raw-http.ts';
import { type Front, startFront } from './bytes/front.ts';
import { valuesOf } from './bytes/http1.ts';
import type { Caller } from './bytes/oracle.ts';
import { sendThrough } from './bytes/through.ts';

let front: Front;

beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

/** Headers that only the gateway may send to a service, or only a trusted proxy to the gateway. */
const RESERVED = [
  'x-guild-principal',
  'x-guild-call',
  'x-guild-anything',
  'x-guild-id-2',
  'x-guild-',
  'x-internal-key',
  'x-internal-',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-anything',
];

const alternating = (name: string) =>
  name.replace(/./g, (letter, at: number) => (at % 2 ? letter.toUpperCase() : letter));
const capitals = (name: string) => name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
const SPELLINGS = [(name: string) => name, (name: string) => name.toUpperCase(), capitals, alternating];

const VALUE = 'e30.Zm9yZ2Vk';
const BODY = '{"game_ids":[7]}';
const CHUNKED = wire(`${BODY.length.toString(16)}\n${BODY}\n0\n`);

/** A way in which a client may try to pass a header to a service; `written`: the name as spelled. */
const WAYS: Record<string, (written: string) => { lines?: string; trailers?: string }> = {
  once: (written) => ({ lines: `${written}: ${VALUE}\n` }),
  twice: (written) => ({ lines: `${written}: ${VALUE}\n${written.toLowerCase()}:${VALUE}\n` }),
  'around others': (written) => ({ lines: `${written}: a\nX-Other: b\n${written}:\t${VALUE} \n` }),
  'named by Connection': (written) => ({ lines: `Connection: keep-alive, ${written}\n${written}: ${VALUE}\n` }),
  'named by Connection behind it': (written) => ({ lines: `${written}: ${VALUE}\nConnection: ${written}\n` }),
  'as a trailer': (written) => ({ trailers: `${written}: ${VALUE}\n` }),
  'as a trailer that is announced': (written) => ({
    lines: `Trailer: ${written}\n`,
    trailers: `${written}: ${VALUE}\n`,
  }),
  'in a value': (written) => ({ lines: `X-Other: a, ${written}: ${VALUE}\n` }),
  'with an underscore': (written) => ({ lines: `${written.replace('-', '_')}: ${VALUE}\n` }),
  'with underscores': (written) => ({ lines: `${written.replaceAll('-', '_')}_: ${VALUE}\n` }),
  'with a space before its colon': (written) => ({ lines: `${written} : ${VALUE}\n` }),
  'folded into another': (written) => ({ lines: `X-Other: a\n ${written}: ${VALUE}\n` }),
  'behind a bare carriage return': (written) => ({ lines: `X-Other: a\r${written}: ${VALUE}\n` }),
};

const request = ({ lines = '', trailers = '' }: { lines?: string; trailers?: string }) => {
  return ({ guild, key }: Caller) =>
    wire(`POST /api/v1/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${key}\nX-Guild-ID: ${guild}\n`) +
    wire(`Transfer-Encoding: chunked\n${lines}\n`) +
    CHUNKED +
    wire(`${trailers}\n`);
};

it.each(Object.entries(WAYS))('no reserved header reaches a service %s, in any spelling', async (way, write) => {
  let passed = 0;
  for (const name of RESERVED) {
    for (const spell of SPELLINGS) {
      const { faults, arrived } = await sendThrough(front, request(write(spell(name))));
      expect(faults(), `${name} as ${spell(name)}`).toEqual([]);
      for (const { headers, ...message } of arrived()) {
        passed += 1;
        const own = valuesOf({ headers }, 'x-guild-principal');
        expect([own.length, own.includes(VALUE)]).toEqual([1, false]);
        const allowed = ['x-guild-principal', 'x-guild-id'];
        const names = headers.map(([given]) => given.toLowerCase()).filter((given) => !allowed.includes(given));
        expect(names.filter((given) => /^(?:x-guild-|x-internal-|x-forwarded-|forwarded)/.test(given))).toEqual([]);
        expect(valuesOf({ headers }, 'x-guild-id')).toHaveLength(1);
        expect(String(message.body)).toBe(BODY);
      }
    }
  }
  printFigure(
    `reserved headers ${way}`,
    `${RESERVED.length * SPELLINGS.length} requests, ${passed} passed on without them`,
  );
});
