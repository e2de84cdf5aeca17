import { z } from 'zod';
import { listFaults } from './world.ts';

const faultSchema = z
  .strictObject({
    /** Substring of the path; an empty string matches every path. */
    match: z.string(),
    status: z.int().min(200).max(599).optional(),
    delay_ms: z.int().min(0).max(600_000).default(0),
    times: z.int().positive().optional(),
    /** Close the connection without a response; the request has no effect. */
    reset: z.boolean().default(false),
    /** Seconds for the header Retry-After. */
    retry_after: z.number().min(0).optional(),
    /** Response body instead of the platform's own error. */
    body: z.json().optional(),
    /** Close the connection in the middle of the body; the request takes effect unless `status` is also set. */
    truncate: z.boolean().default(false),
    /** Respond with malformed JSON. */
    broken: z.boolean().default(false),
  })
  .refine(
    (fault) => fault.status || fault.delay_ms || fault.reset || fault.truncate || fault.broken || 'body' in fault,
    'does nothing: give status, body, delay_ms, reset, truncate or broken',
  );

export type Fault = z.output<typeof faultSchema>;

/** The configured faults of a simulator, in the order in which they were added. */
export class Faults {
  #faults: (Fault & { used: number })[] = [];

  /** Adds a fault; throws an error that lists what is invalid. */
  add(input: unknown): Fault {
    const parsed = faultSchema.safeParse(input);
    if (!parsed.success) throw new Error(`The fault can't be taken:\n${listFaults(parsed.error)}`);
    this.#faults.push({ ...parsed.data, used: 0 });
    return parsed.data;
  }

  /** Returns the first fault that matches the path and counts its use; removes a fault that is used up. */
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
