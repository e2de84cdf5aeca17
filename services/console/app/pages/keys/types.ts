import type { ConsoleData } from '../../api/console.ts';

export type Key = ConsoleData<'listKeys'>['keys'][number];

/** A key at the only moment at which its secret is known. */
export type KeyWithSecret = ConsoleData<'createKey'>;
