import type { Command } from './command.ts';
import { auditCommands } from './commands/audit.ts';
import { banMirrorCommands } from './commands/ban-mirror.ts';
import { chatCommands } from './commands/chat.ts';
import { consoleCommands } from './commands/console.ts';
import { guildDoctorCommands } from './commands/doctor.ts';
import { eraseCommands } from './commands/erasure/erase.ts';
import { exportCommands } from './commands/erasure/export.ts';
import { eventCommands } from './commands/events.ts';
import { gameCommands } from './commands/game-commands/game-commands.ts';
import { guildCommands } from './commands/guilds.ts';
import { jobCommands } from './commands/jobs.ts';
import { doctorCommands } from './commands/keys/doctor.ts';
import { keyCommands } from './commands/keys/keys.ts';
import { operatorCommands } from './commands/operators.ts';
import { queueCommands } from './commands/queue.ts';
import { recordCommands } from './commands/records.ts';
import { secretCommands } from './commands/secrets.ts';
import { serverCommands } from './commands/servers.ts';
import { shieldCommands } from './commands/shield.ts';
import { staffCommands } from './commands/staff.ts';
import { topCommands } from './commands/top/top.ts';
import { webhookCommands } from './commands/webhooks.ts';

/** All commands of guildctl, in the order of its help. */
export const COMMANDS: readonly Command[] = [
  ...keyCommands,
  ...doctorCommands,
  ...guildDoctorCommands,
  ...guildCommands,
  ...consoleCommands,
  ...chatCommands,
  ...operatorCommands,
  ...auditCommands,
  ...gameCommands,
  ...serverCommands,
  ...jobCommands,
  ...shieldCommands,
  ...recordCommands,
  ...banMirrorCommands,
  ...staffCommands,
  ...webhookCommands,
  ...eventCommands,
  ...queueCommands,
  ...eraseCommands,
  ...exportCommands,
  ...topCommands,
  ...secretCommands,
];
