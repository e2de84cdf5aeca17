import { Metadata } from '@grpc/grpc-js';
import type { Clock } from '../clock.ts';
import { currentPurpose, PURPOSE_HEADER, requestContext } from '../context.ts';
import { eventSourceHeaders } from '../events/source.ts';
import { REQUEST_ID_HEADER } from '../http/request-id.ts';
import type { KeyRing } from '../security/keyring.ts';
import { traceHeaders } from '../telemetry/tracing/current-span.ts';
import type { Span } from '../telemetry/tracing/span.ts';
import { CALL_TOKEN_HEADER, createCallToken } from './call-token.ts';
import type { MethodShape } from './definition.ts';

export interface Calling {
  /** The name of the calling process. */
  caller: string;
  /** The name of the called service. */
  audience: string;
  /** The keys that sign the call token; left out for callers without call tokens. */
  ring?: KeyRing | undefined;
  clock: Clock;
}

/**
 * Returns the headers of a gRPC call: the call token, and what the called service needs to know of the current work. `span`
 * is the span of the call, if it is recorded.
 */
export function callMetadata(method: MethodShape, { ring, caller, audience, clock }: Calling, span?: Span): Metadata {
  // With waitForReady a call waits, within its deadline, for a server that is restarting.
  const metadata = new Metadata({ waitForReady: true });
  if (ring)
    metadata.set(CALL_TOKEN_HEADER, createCallToken(ring, { caller, audience, method: method.path }, clock.now()));
  const context = requestContext.getStore();
  if (context) metadata.set(REQUEST_ID_HEADER, context.requestId);
  const purpose = currentPurpose();
  if (purpose !== 'caller') metadata.set(PURPOSE_HEADER, purpose);
  for (const [name, value] of eventSourceHeaders()) metadata.set(name, value);
  if (context?.span) for (const [name, value] of traceHeaders(span)) metadata.set(name, value);
  return metadata;
}
