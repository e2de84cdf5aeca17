import type { GrpcClient } from '#kit/grpc/client.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import type { EventType } from '#proto/rest/events/index.ts';
import type { Deployment } from '../deployment.ts';
import { Writer } from '../writer.ts';
import { lineOf } from './lines.ts';

/** What writers use to change the data of a guild. */
export class GuildWriter {
  readonly guild: string;
  readonly #writer: Writer;
  readonly #deployment: Deployment;
  /** The changes that were acknowledged, as the lines of their events. */
  readonly confirmed: string[] = [];

  constructor(guild: string, writer: Writer, deployment: Deployment) {
    this.guild = guild;
    this.#writer = writer;
    this.#deployment = deployment;
  }

  confirm(type: EventType, ...identity: (string | number)[]): void {
    this.confirmed.push(lineOf(type, ...identity));
  }

  get = (path: string) => this.#writer.get(this.guild, path);
  post = (path: string, body: object) => this.#writer.post(this.guild, path, body);
  patch = (path: string, body: object) => this.#writer.write('PATCH', this.guild, path, body);
  delete = (path: string) => this.#writer.write('DELETE', this.guild, path, {});
  /** Sends a request that is not repeated. The result is undefined if it was not acknowledged. */
  attempt = (path: string, body: object) => this.#writer.attempt(this.guild, path, body);

  /** Sends a write with another key of the guild. */
  postAs(key: string, path: string, body: object) {
    return new Writer(this.#deployment.api, new Map([[this.guild, key]])).post(this.guild, path, body);
  }

  /** Changes a member on the chat platform, not through this system. Throws if the platform rejects it. */
  async changeMember(user: string, action: 'join' | 'leave' | 'update', fields: object = {}): Promise<void> {
    const body = JSON.stringify({ guild: this.guild, user, action, ...fields });
    const response = await fetch(`${this.#deployment.simulators.chat}/__members`, { method: 'POST', body });
    if (!response.ok) throw new Error(await response.text());
  }

  /** The address of a server that accepts webhooks. */
  get receiver(): string {
    return this.#deployment.simulators.receiver;
  }

  /** Makes a call as an operator, and repeats it until it succeeds. Throws if it is rejected. */
  operate<Definition extends DefinitionShape, Result>(
    name: string,
    definition: Definition,
    call: (client: GrpcClient<Definition>) => Promise<Result>,
  ): Promise<Result> {
    return this.#deployment.operate(name, definition, call);
  }
}

/** Makes some changes of a guild's data; `turn` counts from 0. */
export type Turn = (writer: GuildWriter, turn: number) => Promise<void>;
