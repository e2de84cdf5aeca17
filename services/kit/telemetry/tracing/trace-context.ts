import { randomFillSync } from 'node:crypto';
import { redactKeys } from '../../security/redact.ts';

/** The headers of W3C Trace Context, which carry a trace from one process to the next. */
export const TRACEPARENT_HEADER = 'traceparent';
export const TRACESTATE_HEADER = 'tracestate';

/** The span of another process that caused a request. */
export interface RemoteSpan {
  traceId: string;
  spanId: string;
  /** True if the other process records the trace. */
  isSampled: boolean;
  /** The value of the header tracestate: data of other tracing systems, which is passed on unchanged. */
  traceState: string | undefined;
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
/** The length of a traceparent of version 00; later versions may have further fields. */
const LENGTH = 55;
const INVALID_VERSION = 'ff';
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const SAMPLED = 1;

/** The limits of tracestate, which the specification requires each process to pass on. */
const MAX_TRACESTATE_LENGTH = 512;
const MAX_TRACESTATE_MEMBERS = 32;
/** Members `key=value`: keys in lower case, values of printable ASCII without comma and equals sign. */
const TRACESTATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Parses the trace headers of a request. Returns undefined if traceparent is missing or malformed. */
export function readTraceHeaders(
  traceparent: string | undefined,
  tracestate: string | undefined,
): RemoteSpan | undefined {
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return undefined;
  const version = traceparent.slice(0, 2);
  if (version === INVALID_VERSION || (version === '00' && traceparent.length !== LENGTH)) return undefined;
  const [traceId, spanId, flags] = [traceparent.slice(3, 35), traceparent.slice(36, 52), traceparent.slice(53, 55)];
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  return { traceId, spanId, isSampled, traceState: readTracestate(tracestate) };
}

/** Returns tracestate if it is well-formed, within the limits and without an API key; otherwise it is dropped. */
function readTracestate(given: string | undefined): string | undefined {
  if (given === undefined || given === '' || given.length > MAX_TRACESTATE_LENGTH) return undefined;
  const members = given.split(',').map((member) => member.trim());
  if (members.length > MAX_TRACESTATE_MEMBERS) return undefined;
  const isWellFormed = members.every((member) => TRACESTATE_MEMBER.test(member)) && redactKeys(given) === given;
  return isWellFormed ? members.join(',') : undefined;
}

/** Returns the header traceparent for calls that a span makes. */
export function traceparentOf(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** True if a request ID contains a trace ID: the gateway makes such ones, clients may choose others. */
export const containsTraceId = (requestId: string): boolean => requestId !== NIL_UUID && UUID.test(requestId);

/** Returns the trace ID that a request ID contains: the same digits without hyphens. */
export const traceIdIn = (requestId: string): string => requestId.replaceAll('-', '');

/** Random bytes in stock, because one call for many bytes costs far less than one for each ID. */
const RANDOM = Buffer.alloc(6 * 1024);
let used = RANDOM.length;

function randomHex(bytes: number): string {
  if (used + bytes > RANDOM.length) {
    randomFillSync(RANDOM);
    used = 0;
  }
  const start = used;
  used += bytes;
  return RANDOM.toString('hex', start, used);
}

export const newTraceId = (): string => randomHex(16);
export const newSpanId = (): string => randomHex(8);
