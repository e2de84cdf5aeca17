import { auditCommands } from './audit.ts';
import type { Command } from './command.ts';
import { eraseCommands } from './erase.ts';
import { exportCommands } from './export.ts';
import { gameCommands } from './game-commands.ts';
import { jobCommands } from './jobs.ts';
import { keyCommands } from './keys.ts';
import { secretCommands } from './secrets.ts';
import { queueCommands } from './queue.ts';
import { serverCommands } from './servers.ts';
import { guildCommands } from './guilds.ts';
import { operatorCommands } from './operators.ts';
import { shieldCommands } from './shield.ts';
import { showCommands } from './show.ts';
import { staffCommands } from './staff.ts';
import { topCommands } from './top.ts';

/** All that guildctl can do, in the order of its help. */
export const COMMANDS: readonly Command[] = [
  ...keyCommands,
  ...guildCommands,
  ...operatorCommands,
  ...auditCommands,
  ...gameCommands,
  ...serverCommands,
  ...jobCommands,
  ...shieldCommands,
  ...showCommands,
  ...staffCommands,
  ...queueCommands,
  ...eraseCommands,
  ...exportCommands,
  ...topCommands,
  ...secretCommands,
];
