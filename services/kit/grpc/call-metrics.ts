import { countFromZero, type Metrics } from '../telemetry/metrics.ts';
import type { Span } from '../telemetry/tracing/span.ts';

/** The result codes that alerts are about, and success; the counter of each method starts with them. */
const COUNTED_FROM_ZERO = ['OK', 'INTERNAL', 'UNAUTHENTICATED', 'UNAVAILABLE'];

interface HandledCall {
  method: string;
  code: string;
  seconds: number;
  span: Span | undefined;
}

/** The metrics of the gRPC calls that a server handles. */
export class CallMetrics {
  readonly #handled;
  readonly #seconds;

  constructor(metrics: Metrics) {
    const help = 'gRPC calls handled, by method and result code';
    this.#handled = metrics.counter('grpc_server_handled_total', help, ['method', 'code']);
    const duration = 'Time from the start of a gRPC call to its end';
    this.#seconds = metrics.requestDuration('grpc_server_handling_seconds', duration, ['method']);
  }

  /** Adds a method that the server serves, so that its counters exist before its first call. */
  add(method: string): void {
    countFromZero(
      this.#handled,
      COUNTED_FROM_ZERO.map((code) => ({ method, code })),
    );
  }

  /** Counts a call that has ended. */
  handled({ method, code, seconds, span }: HandledCall): void {
    this.#seconds.observe({ method }, seconds, span);
    this.#handled.inc({ method, code });
  }

  /** Counts a call that was rejected before its method was called. */
  rejected(method: string, code: string): void {
    this.#handled.inc({ method, code });
  }
}
