import { InconclusiveError } from '../resilience/breaker.ts';

/** Thrown if the client disconnected before the response began, or does not read it. Circuit breakers learn nothing from it. */
export class ClientDisconnected extends InconclusiveError {}
