import responses from './responses.json' with { type: 'json' };

/** A response that the real system sent to the example request of an operation. */
export interface RecordedResponse {
  status: number;
  data: unknown;
}

/** The recorded responses by operation. `npm run docs:responses` writes them, and a test compares them with real ones. */
export const RESPONSES: Readonly<Record<string, RecordedResponse>> = responses;
