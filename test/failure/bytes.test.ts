import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send, readAnswers } from './bytes/client.ts';
import { judgeAnswers, judgeArrivals } from './bytes/compare.ts';
import { CORPUS } from './bytes/corpus.ts';
import { type Front, keyOf, startFront } from './bytes/front.ts';
import { type Caller, expectationOf } from './bytes/oracle.ts';

let front: Front;

beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

let callers = 0;
/** A guild and an address that no other connection has. */
function newCaller(): Caller & { from: string } {
  const number = ++callers;
  const guild = String(900_000_000_000_000_000n + BigInt(number));
  return { guild, key: keyOf(guild), from: `127.${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}` };
}

/** What was wrong with these bytes' way through the gateway, and what came back. */
async function faultsOf(text: (caller: Caller) => string, cuts: (bytes: Buffer) => number[] = () => []) {
  const caller = newCaller();
  const bytes = Buffer.from(text(caller), 'latin1');
  const expectation = expectationOf(bytes, caller);
  const received = await send(front.address, { bytes, cuts: cuts(bytes), from: caller.from });
  const answers = readAnswers(
    received,
    expectation.answers.map(({ method }) => method),
  );
  const arrived = front.recorder.arrivals.get(caller.guild) ?? [];
  const faults = [
    ...judgeAnswers(expectation, answers),
    ...judgeArrivals(expectation, arrived, caller, front.ring, false),
    ...front.recorder.faults.splice(0),
  ];
  return { faults, answers, arrived };
}

describe('every request arrives exactly once, byte for byte, or not at all', () => {
  it.each(CORPUS)('$name: $outcome', async ({ bytes, outcome }) => {
    const { faults, answers, arrived } = await faultsOf(bytes);
    expect(faults).toEqual([]);
    const code = outcome === 'passes' || outcome === 'answered here' ? undefined : outcome;
    const isHead = bytes({ guild: '', key: '' }).startsWith('HEAD');
    expect(answers.map((answer) => answer.code)).toEqual([isHead ? undefined : code]);
    expect(answers.map(({ status }) => status < 400)).toEqual([code === undefined]);
    expect(arrived).toHaveLength(outcome === 'passes' ? 1 : 0);
    for (const header of [
      'x-request-id: ',
      ...(code ? ['cache-control: no-store', 'x-content-type-options: nosniff'] : []),
    ]) {
      expect(answers[0]?.headers).toContain(header);
    }
  });
});
