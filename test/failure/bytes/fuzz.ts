import { setTimeout as wait } from 'node:timers/promises';
import { seededRandom, wholeNumber } from '../../random.ts';
import { type Connection, callerOf } from './callers.ts';
import { readAnswers, send } from './client.ts';
import { judgeAnswers, judgeArrivals } from './compare.ts';
import { CORPUS, SPOILERS } from './corpus.ts';
import type { Front } from './front.ts';
import { type Expectation, expectationOf, methodsOf } from './oracle.ts';

/** Concurrent connections. */
const AT_ONCE = 64;
/** Time limit for the last requests of disconnected clients to arrive. */
const SETTLE_MS = 10_000;
/** Slow cases, which are used less often. */
const MAX_ATTEMPTS = 10;
/** More than the cases of a run. */
const CALLERS = 1_000_000;
const LARGE_BYTES = 4096;
const SMALL = CORPUS.filter(({ bytes }) => bytes({ guild: '', key: '' }).length < LARGE_BYTES);
const CLEAN = SMALL.filter(({ outcome }) => outcome === 'passes');

export interface FuzzOptions {
  cases: number;
  seed: number;
  /** Runs only this case. */
  only?: number;
}

export interface FuzzResult {
  /** Failures, with everything needed to repeat them. */
  failures: string[];
  /** The number of requests that arrived as expected. */
  arrived: number;
  /** The number of expected rejections. */
  rejected: number;
}

interface FuzzCase {
  number: number;
  caller: Connection;
  bytes: Buffer;
  cuts: number[];
  abortAt?: number;
  expectation: Expectation;
}

type Random = () => number;

const pick = <Item>(random: Random, list: readonly Item[]): Item => list[wholeNumber(random, list.length)] as Item;

/** Runs random connections built from the corpus; the same seed builds the same ones. */
export async function fuzz(front: Front, { cases, seed, only }: FuzzOptions): Promise<FuzzResult> {
  const result: FuzzResult = { failures: [], arrived: 0, rejected: 0 };
  const numbers = only === undefined ? Array.from({ length: cases }, (_, index) => index) : [only];
  const done: FuzzCase[] = [];
  const failed = (fuzzCase: FuzzCase, faults: string[]) =>
    result.failures.push(describeFailure(fuzzCase, seed, faults));
  const work = async () => {
    for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
      let attempt = 0;
      let fuzzCase = makeCase(number, seed);
      let outcome = await run(front, fuzzCase);
      // A verification timeout on a busy machine is not a failure of this test.
      while (outcome.isBusy && ++attempt < MAX_ATTEMPTS) {
        await wait(attempt * 500);
        fuzzCase = makeCase(number, seed, attempt);
        outcome = await run(front, fuzzCase);
      }
      if (outcome.faults.length > 0) failed(fuzzCase, outcome.faults);
      result.rejected += outcome.rejected;
      done.push(fuzzCase);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await settled(front);
  for (const fuzzCase of done) {
    const { expectation, caller, abortAt } = fuzzCase;
    const arrivals = front.recorder.arrivals.get(caller.guild) ?? [];
    const faults = judgeArrivals(expectation, arrivals, caller, front.ring, abortAt !== undefined);
    if (faults.length > 0) failed(fuzzCase, faults);
    result.arrived += arrivals.length;
  }
  result.failures.push(...front.recorder.faults.map((fault) => `seed ${seed}: the service was sent ${fault}`));
  return result;
}

/** Resolves once no request has arrived for a moment. */
async function settled({ recorder }: Front): Promise<void> {
  const count = () => [...recorder.arrivals.values()].reduce((sum, { length }) => sum + length, 0);
  for (let before = -1, end = Date.now() + SETTLE_MS; before !== count() && Date.now() < end; ) {
    before = count();
    await wait(200);
  }
}

interface Outcome {
  faults: string[];
  rejected: number;
  /** True if the gateway responded with 503. */
  isBusy: boolean;
}

async function run(front: Front, { caller, expectation, ...sending }: FuzzCase): Promise<Outcome> {
  const received = await send(front.address, { ...sending, from: caller.from });
  if (sending.abortAt !== undefined) return { faults: [], rejected: 0, isBusy: false };
  try {
    const answers = readAnswers(received, methodsOf(expectation));
    const rejected = answers.filter(({ status }) => status >= 400).length;
    return {
      faults: judgeAnswers(expectation, answers),
      rejected,
      isBusy: answers.some(({ status }) => status >= 500),
    };
  } catch (error) {
    return { faults: [String(error)], rejected: 0, isBusy: false };
  }
}

function makeCase(number: number, seed: number, attempt = 0): FuzzCase {
  const random = seededRandom(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(number + 1, 0x85eb_ca6b));
  const caller = callerOf(number + attempt * CALLERS);
  let text = '';
  for (let left = 1 + wholeNumber(random, 4); left > 0; left--) {
    const entry = pick(random, pickList(random));
    const whole = entry.bytes(caller);
    text += random() < 0.25 ? spoilHead(random, whole) : whole;
  }
  for (let left = random() < 0.3 ? 1 + wholeNumber(random, 3) : 0; left > 0; left--) text = spoilBytes(random, text);
  const bytes = Buffer.from(text, 'latin1');
  const expectation = expectationOf(bytes, caller);
  const abort = random() < 0.1 ? { abortAt: wholeNumber(random, bytes.length + 1) } : {};
  return { number, caller, bytes, cuts: makeCuts(random, bytes.length), expectation, ...abort };
}

function pickList(random: Random): typeof CORPUS {
  const kind = random();
  if (kind < 0.02) return CORPUS;
  return kind < 0.75 ? CLEAN : SMALL;
}

/** Duplicates, removes, moves or changes the case of a header line, or inserts another. */
function spoilHead(random: Random, whole: string): string {
  const [head = '', ...rest] = whole.split('\r\n\r\n');
  const lines = head.split('\r\n');
  const at = 1 + wholeNumber(random, lines.length);
  const line = lines[at] ?? '';
  switch (wholeNumber(random, 5)) {
    case 0:
      lines.splice(at, 0, pick(random, SPOILERS));
      break;
    case 1:
      lines.splice(at, 0, pick(random, lines.slice(1)) ?? line);
      break;
    case 2:
      lines.splice(at, 1);
      break;
    case 3:
      lines.splice(at, 1, random() < 0.5 ? line.toUpperCase() : line.toLowerCase());
      break;
    default:
      lines.splice(at, 1, line.replace(':', pick(random, [' :', ':\t ', '::', '_:', ''])));
  }
  return [lines.join('\r\n'), ...rest].join('\r\n\r\n');
}

const BYTES = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  '%',
  '/',
  '.',
  '0',
  '\x7f',
  '\xff',
  ';',
  ',',
  '?',
  '#',
];

/** Removes, inserts, changes or duplicates bytes at random places. */
function spoilBytes(random: Random, text: string): string {
  const at = wholeNumber(random, text.length + 1);
  const length = 1 + wholeNumber(random, 8);
  const inserted = random() < 0.5 ? pick(random, BYTES) : String.fromCharCode(wholeNumber(random, 256));
  switch (wholeNumber(random, 4)) {
    case 0:
      return text.slice(0, at) + text.slice(at + length);
    case 1:
      return text.slice(0, at) + inserted + text.slice(at);
    case 2:
      return text.slice(0, at) + inserted + text.slice(at + 1);
    default:
      return text.slice(0, at) + text.slice(Math.max(0, at - length), at) + text.slice(at);
  }
}

/** One write, a few writes, or single bytes for a part. */
function makeCuts(random: Random, length: number): number[] {
  const kind = random();
  if (kind < 0.3) return [];
  if (kind < 0.9) {
    const cuts = Array.from({ length: 1 + wholeNumber(random, 6) }, () => wholeNumber(random, length));
    return cuts.toSorted((a, b) => a - b);
  }
  const start = wholeNumber(random, length);
  return Array.from({ length: Math.min(60, length - start) }, (_, index) => start + index);
}

function describeFailure({ number, bytes, abortAt }: FuzzCase, seed: number, faults: string[]): string {
  const shown = JSON.stringify(bytes.toString('latin1').slice(0, 1_500));
  const aborted = abortAt === undefined ? '' : `, gone after ${abortAt} bytes`;
  return `seed ${seed}, case ${number}${aborted}: ${faults.join('; ')}\n  ${shown}`;
}
