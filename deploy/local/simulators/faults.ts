import { z } from 'zod';
import { listFaults } from './world.ts';

const faultSchema = z
  .strictObject({
    /** Substring of the path; the empty one is in every path. */
    match: z.string(),
    status: z.int().min(200).max(599).optional(),
    delay_ms: z.int().min(0).max(600_000).default(0),
    times: z.int().positive().optional(),
    /** Cut the connection without an answer; the call has no effect. */
    reset: z.boolean().default(false),
    /** Seconds, as the header Retry-After. */
    retry_after: z.number().min(0).optional(),
    /** Answered in place of the platform's own error. */
    body: z.json().optional(),
    /** Cut the connection in the middle of the body; the call takes effect unless `status` is there too. */
    truncate: z.boolean().default(false),
    /** Answer JSON that can't be read. */
    broken: z.boolean().default(false),
  })
  .refine(
    (fault) => fault.status || fault.delay_ms || fault.reset || fault.truncate || fault.broken || 'body' in fault,
    'does nothing: give status, body, delay_ms, reset, truncate or broken',
  );

export type Fault = z.output<typeof faultSchema>;

/** The faults that a simulator was told to show, in the order in which they were told. */
export class Faults {
  #faults: (Fault & { used: number })[] = [];

  /** Adds a fault; throws an error that lists what is wrong with it. */
  add(input: unknown): Fault {
    const parsed = faultSchema.safeParse(input);
    if (!parsed.success) throw new Error(`The fault can't be taken:\n${listFaults(parsed.error)}`);
    this.#faults.push({ ...parsed.data, used: 0 });
    return parsed.data;
  }

  /** The first fault that matches the path, counted as used; one that is used up is gone. */
  take(path: string): Fault | undefined {
    const fault = this.#faults.find((candidate) => path.includes(candidate.match));
    if (!fault) return undefined;
    fault.used += 1;
    if (fault.used === fault.times) this.#faults = this.#faults.filter((other) => other !== fault);
    return fault;
  }

  list(): (Fault & { used: number })[] {
    return this.#faults;
  }

  clear(): void {
    this.#faults = [];
  }
}
