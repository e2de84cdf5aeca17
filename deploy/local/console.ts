import { type Operator, runGuildctl } from './guildctl.ts';

/** The console's address, and a link that signs one person in to the demo guild once, within 10 minutes. */
export type ConsoleUp = { url: string; link: string };

/** What the console needs besides its process. */
export type ConsoleSetUp = {
  /** Creates a link that signs a person in. */
  createLink: (options: Operator & { guildId: string }) => Promise<string>;
};

export const localConsole: ConsoleSetUp = {
  createLink: ({ guildId, ...operator }) => runGuildctl(['console', 'link', '--guild', guildId], 'url', operator),
};
