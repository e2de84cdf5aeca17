/** Returns a message of a response. The generated types allow it to be missing, although the services always send it. */
export function required<Message>(message: Message | undefined, name: string): Message {
  if (message === undefined) throw new Error(`the response of the service has no ${name}`);
  return message;
}
