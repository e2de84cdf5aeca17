import { APPLICATION_PUBLIC_KEY } from './interactions.ts';

/** Turns on the parts of the system that are off by default and have metrics of their own. */
export const OPTIONAL_PARTS = { BAN_MIRROR_UNIVERSES: '*', CHAT_APPLICATION_PUBLIC_KEY: APPLICATION_PUBLIC_KEY };
