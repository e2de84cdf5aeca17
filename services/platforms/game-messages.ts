/** Messages to the game servers of a universe. The platform delivers them within a second or two, or not at all. */
export interface GameMessages {
  /**
   * Sends a message to the servers of a universe that have subscribed to the topic. Returns `rejected` if the platform
   * has no such universe, or the operator's key has no permission for it. Throws PLATFORM_ERROR, TIMEOUT or UNAVAILABLE.
   */
  publish(universeId: number, topic: string, message: string): Promise<'published' | 'rejected'>;
}
