import type { ComponentType } from 'preact';
import type { IconName } from '../components/icon.tsx';
import type { shellTexts } from '../texts.ts';
import type { Guild } from './guild.tsx';

/** A page of a guild, at `/guilds/:guildId/<path>`. */
export interface GuildPage {
  /** May have parameters: `people/:id`. */
  path: string;
  component: ComponentType;
  /** Its entry in the navigation; a page without one is reached from another page. */
  navigation?: { name: keyof typeof shellTexts.pages; icon: IconName; section?: keyof typeof shellTexts.sections };
  /** True if a person with this role can use the page. */
  isFor: (guild: Guild) => boolean;
}
