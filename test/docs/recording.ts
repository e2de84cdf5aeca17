import { exampleRequest, GUILD as GUILD_IN_EXAMPLES } from '#gateway/docs/reference/request.ts';
import type { RecordedResponse } from '#gateway/docs/reference/responses.ts';
import { topicsOf } from '#gateway/docs/reference/topics.ts';
import { openApiDocument } from '#gateway/openapi/openapi.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { GUILD, type Network } from '../system/system.ts';

/** The time at which all examples were sent, in Unix seconds. */
const EXAMPLE_TIME = 1_790_000_000;
/** How far a number may be from the present to be taken for a time. */
const TIME_RANGE_SECONDS = 400 * 24 * 3600;
const TIME_FIELD = /(?:_at|_time|_until|_since)$/;

const document = openApiDocument(ROUTES, { version: '1.0', serverUrl: 'http://localhost' });
const endpoints = topicsOf(document).flatMap((topic) => topic.endpoints);

/** Sends the example requests of the reference to the real system, and records the responses. */
export class Recording {
  readonly responses: Record<string, RecordedResponse> = {};
  readonly #network: Network;
  readonly #key: string;
  /** IDs that the system generates, by the ID that stands for them in the examples. The latest is the last. */
  readonly #real: { shown: string; real: string }[] = [];

  constructor(network: Network, key: string) {
    this.#network = network;
    this.#key = key;
  }

  /** From now on `shown` in an example request stands for `real`, and `real` in a response becomes `shown`. */
  replace(shown: string, real: string): void {
    this.#real.push({ shown, real });
  }

  /**
   * Sends the example request of an operation, and records the response. `generated` has the fields of the response that the
   * system generates, each with the value that stands for it in the examples from now on.
   */
  async record(operationId: string, generated: Record<string, string> = {}): Promise<void> {
    const { status, data } = await this.send(operationId);
    for (const [field, shown] of Object.entries(generated)) this.replace(shown, String(data[field]));
    this.responses[operationId] = { status, data: this.#asShown(data) };
  }

  /** Sends the example request of an operation, with other fields in its body. */
  async send(operationId: string, change: object = {}): Promise<{ status: number; data: Record<string, unknown> }> {
    const endpoint = endpoints.find(({ operation }) => operation.operationId === operationId);
    if (!endpoint) throw new Error(`there is no operation ${operationId}`);
    const { method, target, namesGuildInHeader, body } = exampleRequest(endpoint, document.components);
    const path = this.#withReal(target).replace(/^\/api\/v1/, '');
    const { status, json } = await this.#network.call(path, {
      method,
      key: this.#key,
      headers: namesGuildInHeader ? { 'x-guild-id': GUILD } : {},
      ...(body === undefined ? {} : { body: { ...JSON.parse(this.#withReal(JSON.stringify(body))), ...change } }),
    });
    if (status > 299) throw new Error(`${operationId} got ${status}: ${JSON.stringify(json)}`);
    return { status, data: json.data };
  }

  #withReal(text: string): string {
    const latest = new Map(this.#real.map(({ shown, real }) => [shown, real]));
    const replaced = [...latest].reduce((rest, [shown, real]) => rest.replaceAll(shown, real), text);
    return replaced.replaceAll(GUILD_IN_EXAMPLES, GUILD);
  }

  /** Replaces generated IDs by those of the examples, and moves times to the time of the examples. */
  #asShown(data: unknown): unknown {
    const text = this.#real.reduce((rest, { shown, real }) => rest.replaceAll(real, shown), JSON.stringify(data));
    const now = Math.floor(Date.now() / 1000);
    return JSON.parse(text, (name, value) => {
      if (typeof value !== 'number' || !TIME_FIELD.test(name) || Math.abs(value - now) > TIME_RANGE_SECONDS)
        return value;
      return EXAMPLE_TIME + roundedSeconds(value - now);
    });
  }
}

/** Rounds the distance of a time: a test takes some seconds that do not matter. */
function roundedSeconds(seconds: number): number {
  const step = 15;
  return Math.abs(seconds) < step / 2 ? 0 : Math.round(seconds / step) * step;
}
