/**
 * The deadline of a call to a service. It is long because a cluster's DNS may not know a service until five seconds
 * after the service became ready.
 */
export const DEADLINE_MS = 8_000;
