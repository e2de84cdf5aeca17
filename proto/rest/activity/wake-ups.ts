/**
 * Returns the topic of the game platform's messages that wake the servers of a guild. Whoever may publish to the
 * universe can wake its servers, and a message contains no data of the guild, so that the topic need not be secret.
 */
export const wakeUpTopic = (guildId: string) => `guild-data-${guildId}`;
