import {
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '#proto/gen/grpc/health/v1/health.ts';

type Watcher = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

/** True if a call is about the server as a whole; no service has a status of its own. */
const isServer = ({ request: { service } }: Pick<Watcher, 'request'>) => service === '';

/**
 * The gRPC health checks of a server, which has one status for all of its services: the one with the empty name. The
 * package grpc-health-check parses its protocol at each start, which costs a tenth of the processor time of the start.
 */
export class Health {
  #status: HealthCheckResponse['status'] = ServingStatus.NOT_SERVING;
  /** The calls that wait for a changed status. */
  readonly #watchers = new Set<Watcher>();

  setServing(isServing: boolean): void {
    this.#status = isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    for (const watcher of this.#watchers) if (isServer(watcher)) watcher.write({ status: this.#status });
  }

  /** Ends the calls that wait for a changed status, so that the server can complete all calls. */
  end(): void {
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
  }

  addTo(server: Server): void {
    server.addService(HealthService, {
      check: (
        { request: { service } }: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
        respond: sendUnaryData<HealthCheckResponse>,
      ) => {
        if (service === '') return respond(null, { status: this.#status });
        respond({ code: status.NOT_FOUND, details: 'only the server as a whole, with an empty name, has a status' });
      },
      watch: (call: Watcher) => {
        call.write({ status: isServer(call) ? this.#status : ServingStatus.SERVICE_UNKNOWN });
        this.#watchers.add(call);
        call.on('cancelled', () => this.#watchers.delete(call));
      },
      list: (_call: unknown, respond: sendUnaryData<unknown>) =>
        respond(null, { statuses: { '': { status: this.#status } } }),
    });
  }
}
