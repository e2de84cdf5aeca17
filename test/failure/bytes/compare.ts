import type { SecretRing } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, verifyPrincipal } from '#kit/security/principal.ts';
import { ROUTES } from '#proto/rest/index.ts';
import type { Answer } from './client.ts';
import { type Message, valuesOf } from './http1.ts';
import type { Caller, Expectation } from './oracle.ts';
import { type Arrival, fingerprint } from './recorder.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Describes wrong responses on a connection; empty if all are right. */
export function judgeAnswers({ answers, certain, rejection }: Expectation, given: readonly Answer[]): string[] {
  const faults: string[] = [];
  const finals = given.slice(0, answers.length);
  finals.forEach((answer, index) => {
    const { status, code, method, passed } = answers[index] as Expectation['answers'][number];
    const isBroken =
      answer.status >= 400 && answer.status < 500 && index === finals.length - 1 && rejection === 'perhaps';
    // A fault in later bytes can close the connection before an optional response.
    if (isBroken && index >= certain) return;
    if (answer.status !== status || (method !== 'HEAD' && answer.code !== code)) {
      faults.push(`answer ${index} is ${answer.status} ${answer.code}, not ${status} ${code}`);
    } else if (passed && method !== 'HEAD' && answer.seen !== fingerprint(passed)) {
      faults.push(`answer ${index} belongs to another request`);
    }
  });
  if (given.length < certain) faults.push(`${given.length} answers, not ${certain}`);
  const more = given.slice(answers.length);
  const [most, least] = [rejection === 'none' ? 0 : 1, rejection === 'one' ? 1 : 0];
  if (more.length > most || more.length < least) faults.push(`${more.length} answers to what is no request`);
  if (more.some(({ status }) => status < 400 || status >= 500)) faults.push('what is no request was not rejected');
  return faults;
}

/** Describes wrong requests at the service; `isAborted`: the client did not wait for the responses. */
export function judgeArrivals(
  { answers, certain }: Expectation,
  arrived: readonly Arrival[],
  caller: Caller,
  ring: SecretRing,
  isAborted: boolean,
): string[] {
  const wanted = answers.flatMap(({ passed }) => passed ?? []);
  const least = isAborted ? 0 : answers.slice(0, certain).filter(({ passed }) => passed).length;
  if (arrived.length > wanted.length) return [`${arrived.length} requests arrived, not ${wanted.length}`];
  if (arrived.length < least) return [`${arrived.length} requests arrived, not ${least}`];
  return arrived.flatMap((message, index) => judgeArrival(message, wanted[index] as Message, caller, ring));
}

function judgeArrival(arrived: Arrival, sent: Message, caller: Caller, ring: SecretRing): string[] {
  const faults: string[] = [];
  if (arrived.method !== sent.method) faults.push(`the method arrived as ${arrived.method}`);
  if (arrived.target !== sent.target) faults.push(`the target arrived as ${arrived.target}`);
  if (!arrived.body.equals(sent.body)) faults.push(`${arrived.body.length} bytes of body arrived, or others`);
  const [got, wanted] = [headersOf(arrived), wantedHeaders(sent)];
  for (const [name, value] of got) {
    if (!(name in OWN) && wanted.get(name) !== value) faults.push(`${name} arrived as ${JSON.stringify(value)}`);
  }
  for (const name of wanted.keys()) if (!got.has(name)) faults.push(`${name} did not arrive`);
  for (const [name, isRight] of Object.entries(OWN)) {
    if (!isRight(got.get(name), sent)) faults.push(`${name} arrived as ${JSON.stringify(got.get(name))}`);
  }
  if (!isSigned(arrived, caller, ring)) faults.push('the principal is not signed for it');
  return faults;
}

function isSigned(arrived: Arrival, { guild }: Caller, ring: SecretRing): boolean {
  const { method, target, at } = arrived;
  const services = new Set(ROUTES.map(({ service }) => service));
  const [header] = valuesOf(arrived, PRINCIPAL_HEADER);
  return [...services].some((audience) => {
    try {
      return verifyPrincipal(ring, header, { audience, method, target }, at).guildId === guild;
    } catch {
      return false;
    }
  });
}

/** Headers that the gateway sets itself. */
const OWN: Record<string, (value: string | undefined, sent: Message) => boolean> = {
  [PRINCIPAL_HEADER]: (value) => value !== undefined,
  connection: (value) => value === 'keep-alive' || value === 'close',
  // The body is forwarded with the length that was received, however the client framed it.
  'content-length': (value, { method, body }) =>
    value === (['GET', 'HEAD'].includes(method) ? undefined : String(body.length)),
  // The service's own header, not the client's.
  host: (value) => /^127\.0\.0\.1:\d+$/.test(value ?? ''),
  'x-request-id': (value, sent) => {
    const given = valuesOf(sent, 'x-request-id').join(',');
    return REQUEST_ID.test(given) ? value === given : UUID.test(value ?? '');
  },
};

/** Headers by lower-case name; all values of a name as one list. */
function headersOf({ headers }: Pick<Message, 'headers'>): Map<string, string> {
  const all = new Map<string, string>();
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    all.set(name, (all.has(name) ? `${all.get(name)}, ${value}` : value).trim());
  }
  return all;
}

/** The client's headers that a service receives. */
const FORWARDED = 'content-encoding content-type idempotency-key x-guild-id'.split(' ');

/** The sent headers without those that services do not receive. */
function wantedHeaders(sent: Message): Map<string, string> {
  const named = valuesOf(sent, 'connection').join(',').toLowerCase().split(',');
  const dropped = new Set(named.map((name) => name.trim()));
  const headers = headersOf(sent);
  for (const name of headers.keys()) if (dropped.has(name) || !FORWARDED.includes(name)) headers.delete(name);
  return headers;
}
