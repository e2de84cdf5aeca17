import { expect, test } from 'vitest';
import { newSpanId, newTraceId, readTraceHeaders, traceparentOf } from './trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('a traceparent is read with its sampling decision, and written again in the same form', () => {
  for (const isSampled of [true, false]) {
    const header = traceparentOf(TRACE, SPAN, isSampled);
    expect(header).toBe(`00-${TRACE}-${SPAN}-0${isSampled ? 1 : 0}`);
    expect(readTraceHeaders(header, undefined)).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      isSampled,
      traceState: undefined,
    });
  }
});

test('of the flags only the lowest bit says that a trace is sampled', () => {
  const sampled = (flags: string) => readTraceHeaders(`00-${TRACE}-${SPAN}-${flags}`, undefined)?.isSampled;
  expect(['02', '03', 'fe', 'ff'].map(sampled)).toEqual([false, true, false, true]);
});

test.each([
  '',
  TRACE,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01 `,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `ff-${TRACE}-${SPAN}-01`,
  `0g-${TRACE}-${SPAN}-01`,
  // Node joins the values of a header that was sent twice.
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
])('the malformed traceparent %j is ignored', (header) => {
  expect(readTraceHeaders(header, 'a=b')).toBeUndefined();
});

test('a later version of traceparent is read, whatever follows the fields that are known', () => {
  expect(readTraceHeaders(`01-${TRACE}-${SPAN}-01-more`, undefined)?.traceId).toBe(TRACE);
});

test('tracestate is passed on if it is well-formed', () => {
  const read = (tracestate: string) => readTraceHeaders(traceparentOf(TRACE, SPAN, true), tracestate)?.traceState;
  expect(read('rojo=00f067aa0ba902b7, congo@vendor=t61rcWkgMzE')).toBe(
    'rojo=00f067aa0ba902b7,congo@vendor=t61rcWkgMzE',
  );
  const members = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=v`).join(',');
  expect(read(members(32))).toBe(members(32));
  expect(read(`a=${'x'.repeat(250)},b=${'x'.repeat(250)}`)).toHaveLength(505);
  const key = `service_200000000000000001_${'Ab1'.repeat(12)}Zz`;
  const dropped = ['', members(33), `a=${'x'.repeat(250)},b=${'x'.repeat(260)}`, 'A=b', 'a', 'a=', 'a=b,', 'a=b=c'];
  for (const tracestate of [...dropped, 'a=\u00e9', 'a=b\u0000', `a=${key}`]) expect(read(tracestate)).toBeUndefined();
});

test('IDs are random, of the right length, and never repeat', () => {
  const ids = Array.from({ length: 5_000 }, () => [newTraceId(), newSpanId()]).flat();
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id, index) => !(index % 2 === 0 ? /^[0-9a-f]{32}$/ : /^[0-9a-f]{16}$/).test(id))).toEqual([]);
});
