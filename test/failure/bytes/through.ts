import { callerOf } from './callers.ts';
import { type Answer, readAnswers, send } from './client.ts';
import { judgeAnswers, judgeArrivals } from './compare.ts';
import type { Front } from './front.ts';
import { type Caller, expectationOf, methodsOf } from './oracle.ts';
import type { Arrival } from './recorder.ts';

/** Clients of the fuzzer have smaller numbers. */
let callers = 50_000_000;

/** A client that was not used in this process before. */
export const newCaller = () => callerOf(++callers);

export interface Through {
  answers: Answer[];
  /** The requests that have arrived so far. */
  arrived: () => Arrival[];
  /** Failures found so far. */
  faults: () => string[];
}

/** Sends bytes, in one write unless split, completely or until the client disconnects. */
export async function sendThrough(
  front: Front,
  text: (caller: Caller) => string,
  { cuts = [], abortAt }: { cuts?: number[]; abortAt?: number } = {},
): Promise<Through> {
  const caller = newCaller();
  const bytes = Buffer.from(text(caller), 'latin1');
  const expectation = expectationOf(bytes, caller);
  const isAborted = abortAt !== undefined;
  const received = await send(front.address, { bytes, cuts, from: caller.from, ...(isAborted ? { abortAt } : {}) });
  const answers = isAborted ? [] : readAnswers(received, methodsOf(expectation));
  const arrived = () => front.recorder.arrivals.get(caller.guild) ?? [];
  const faults = () => [
    ...(isAborted ? [] : judgeAnswers(expectation, answers)),
    ...judgeArrivals(expectation, arrived(), caller, front.ring, isAborted),
    ...front.recorder.faults.splice(0),
  ];
  return { answers, arrived, faults };
}
