import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

// For all threads of the process, and for good: not for unit tests, which share theirs.
setFlagsFromString('--allow-natives-syntax');

/** Whether the next collection of young garbage would look at an object: none that was just made should wait for a full one. */
export const isYoung = runInThisContext('(value) => %InYoungGeneration(value)') as (value: unknown) => boolean;
