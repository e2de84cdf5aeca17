import type { Command } from './command.ts';

/** The commands that one file defines. The file is loaded when one of them is used, so that the help is printed at once. */
export interface CommandFile {
  /** What each command does, by the words that select it. */
  summaries: Readonly<Record<string, string>>;
  load: () => Promise<readonly Command[]>;
}

/** All commands of guildctl, in the order of its help. */
export const COMMAND_FILES: readonly CommandFile[] = [
  {
    summaries: {
      'keys create': 'create a key; it is printed only once',
      'keys list': 'list the keys of a guild, or keys of all guilds that expire soon or are unused',
      'keys update': 'change the settings of a key',
      'keys rotate': 'give a key a new secret; it is printed only once',
      'keys revoke': 'revoke a key, all keys of a guild, or leaked keys',
    },
    load: async () => (await import('./commands/keys/keys.ts')).keyCommands,
  },
  {
    summaries: {
      'keys doctor': 'check that game servers can use a key',
    },
    load: async () => (await import('./commands/keys/doctor.ts')).doctorCommands,
  },
  {
    summaries: {
      doctor: 'check the set-up of a guild: bot, roles, bindings, keys, platforms, game servers and webhooks',
    },
    load: async () => (await import('./commands/doctor.ts')).guildDoctorCommands,
  },
  {
    summaries: {
      'guilds list': 'list the guilds that have or had keys, with their last use',
      'guilds suspend': 'make all keys of a guild invalid until it is resumed',
      'guilds resume': 'make the keys of a suspended guild valid again',
    },
    load: async () => (await import('./commands/guilds.ts')).guildCommands,
  },
  {
    summaries: {
      'console link': 'create a link that signs one person in to the console, once and within 10 minutes',
    },
    load: async () => (await import('./commands/console.ts')).consoleCommands,
  },
  {
    summaries: {
      'chat commands install': 'register the slash commands of this version at the chat platform, in all guilds',
    },
    load: async () => (await import('./commands/chat.ts')).chatCommands,
  },
  {
    summaries: {
      'operators add': 'add an operator and create a credential, which is printed only once',
      'operators revoke': 'revoke the credential of an operator immediately',
      'operators list': 'list the operators of the installation',
    },
    load: async () => (await import('./commands/operators.ts')).operatorCommands,
  },
  {
    summaries: {
      'audit list': 'list the changes to a guild by operators, API keys and persons in the console, the newest first',
      'audit verify': 'verify the chain of the audit, and report the first entry at which it is broken',
    },
    load: async () => (await import('./commands/audit.ts')).auditCommands,
  },
  {
    summaries: {
      'commands send': 'send a command to game servers',
      'commands list': 'list the commands of a guild with their outcomes, the newest first',
      'commands show': 'show a command, and its outcome on each server',
      'commands cancel': 'cancel a command on all servers to which it was not delivered yet',
    },
    load: async () => (await import('./commands/game-commands/game-commands.ts')).gameCommands,
  },
  {
    summaries: {
      'servers list': 'list the live game servers of a guild',
    },
    load: async () => (await import('./commands/servers.ts')).serverCommands,
  },
  {
    summaries: {
      'jobs list': "a guild's synchronisation jobs, the newest first",
      'jobs retry': 'continue a paused job now, or a failed one at its position',
      'jobs cancel': 'end an unfinished job; its changes stay, and jobs retry continues it',
    },
    load: async () => (await import('./commands/jobs.ts')).jobCommands,
  },
  {
    summaries: {
      'shield add': 'flag a player; an earlier entry is replaced',
      'shield remove': 'remove a player from the flagged list',
      'shield list': 'list the players who are flagged in a guild, or in all guilds, ordered by game ID',
    },
    load: async () => (await import('./commands/shield.ts')).shieldCommands,
  },
  {
    summaries: {
      'links show': 'show the link of an account, and the history of the links of its chat account',
      'bans show': 'show the bans and mutes of a player, and the newest 100 log entries',
      'bindings show': 'show the bindings of a guild, or one of them',
    },
    load: async () => (await import('./commands/records.ts')).recordCommands,
  },
  {
    summaries: {
      'bans reconcile': 'compare all bans of a guild with the game platform now',
      'bans drift': 'bans that differ from the game platform, and the last comparisons',
    },
    load: async () => (await import('./commands/ban-mirror.ts')).banMirrorCommands,
  },
  {
    summaries: {
      'staff set': 'make a chat role a staff role, or replace its settings',
      'staff list': 'list the staff roles of a guild, the highest level first',
      'staff remove': 'make a staff role an ordinary chat role',
    },
    load: async () => (await import('./commands/staff.ts')).staffCommands,
  },
  {
    summaries: {
      'webhooks list': 'list the webhooks of a guild, the oldest first',
      'webhooks show': 'show one webhook',
      'webhooks disable': 'send no more events to a webhook until it is enabled',
      'webhooks enable': 'send events to a disabled webhook again, from the first event that was not sent',
      'webhooks replay': 'send events to a webhook again, from a seq or single ones',
      'webhooks deliveries': 'list the attempts of the last seven days to send events to a webhook, the newest first',
    },
    load: async () => (await import('./commands/webhooks.ts')).webhookCommands,
  },
  {
    summaries: {
      'events tail': 'print the newest events of a guild, and then each new one until it is interrupted',
    },
    load: async () => (await import('./commands/events.ts')).eventCommands,
  },
  {
    summaries: {
      'queue list': 'background work that waits, is in flight, or has failed permanently (dead letters)',
      'queue retry': 'retry an item now, or all dead letters of a queue, with all of their attempts',
      'queue skip': 'discard an item that waits or is a dead letter; this cannot be undone',
    },
    load: async () => (await import('./commands/queue.ts')).queueCommands,
  },
  {
    summaries: {
      'guild erase': 'revoke the keys of a guild and erase all of its data',
      'user erase': 'erase all data of a user from a guild, or from all guilds',
    },
    load: async () => (await import('./commands/erasure/erase.ts')).eraseCommands,
  },
  {
    summaries: {
      'user export': 'print all data of a user in a guild, or in all guilds, as a JSON document',
    },
    load: async () => (await import('./commands/erasure/export.ts')).exportCommands,
  },
  {
    summaries: {
      top: 'show the current load of every process, and the busiest and most rejected keys of the last minute',
    },
    load: async () => (await import('./commands/top/top.ts')).topCommands,
  },
  {
    summaries: {
      'secrets generate': 'generate the two root secrets, from which the keys of all processes are derived',
      'secrets derive': 'print the keys of each process, derived from INTERNAL_SECRETS and ADMIN_SECRETS',
    },
    load: async () => (await import('./commands/secrets.ts')).secretCommands,
  },
];
