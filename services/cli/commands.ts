import type { Command } from './command.ts';
import { auditCommands } from './commands/audit.ts';
import { eraseCommands } from './commands/erase.ts';
import { exportCommands } from './commands/export.ts';
import { gameCommands } from './commands/game-commands.ts';
import { guildCommands } from './commands/guilds.ts';
import { jobCommands } from './commands/jobs.ts';
import { keyCommands } from './commands/keys.ts';
import { operatorCommands } from './commands/operators.ts';
import { queueCommands } from './commands/queue.ts';
import { secretCommands } from './commands/secrets.ts';
import { serverCommands } from './commands/servers.ts';
import { shieldCommands } from './commands/shield.ts';
import { staffCommands } from './commands/staff.ts';
import { topCommands } from './commands/top.ts';
import { showCommands } from './show.ts';

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
