/**
 * Returns a message that a response contains. The generated types allow the message to be missing, although the
 * services always send it; throws if it is missing.
 */
export function required<Message>(message: Message | undefined, name: string): Message {
  if (message === undefined) throw new Error(`the response of the service has no ${name}`);
  return message;
}
