/** One method of a definition that ts-proto made. */
export interface MethodShape {
  path: string;
  requestStream: false;
  responseStream: boolean;
  requestSerialize: (message: never) => Buffer;
  requestDeserialize: (bytes: Buffer) => unknown;
  responseSerialize: (message: never) => Buffer;
  responseDeserialize: (bytes: Buffer) => unknown;
}

export type DefinitionShape = Record<string, MethodShape>;
export type RequestOf<Method extends MethodShape> = ReturnType<Method['requestDeserialize']>;
export type ResponseOf<Method extends MethodShape> = ReturnType<Method['responseDeserialize']>;

/** What a streaming method writes to. */
export interface ResponseStream<Message> {
  write(message: Message): void;
  /** How many messages were written faster than the caller takes them. */
  readonly waiting: number;
  /** Aborted when the caller has gone or the server drains. */
  signal: AbortSignal;
}

/** A function for each method: the answer as a promise; a streaming method resolves when its stream is to end. */
export type GrpcHandlers<Definition extends DefinitionShape> = {
  [Name in keyof Definition]: Definition[Name]['responseStream'] extends true
    ? (request: RequestOf<Definition[Name]>, stream: ResponseStream<ResponseOf<Definition[Name]>>) => Promise<void>
    : (request: RequestOf<Definition[Name]>) => Promise<ResponseOf<Definition[Name]>>;
};
