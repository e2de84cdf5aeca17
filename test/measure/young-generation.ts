import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

// Affects all threads of the process permanently, so unit tests must not use it.
setFlagsFromString('--allow-natives-syntax');

/** True if an object is in the young generation, whose garbage does not wait for a full collection. */
export const isYoung = runInThisContext('(value) => %InYoungGeneration(value)') as (value: unknown) => boolean;
