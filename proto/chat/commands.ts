/** The permissions of the chat platform that slash commands require, each as its bit in the permissions of a member. */
export const CHAT_PERMISSIONS = {
  BAN_MEMBERS: 1n << 2n,
  MODERATE_MEMBERS: 1n << 40n,
} as const;

export type ChatPermission = keyof typeof CHAT_PERMISSIONS;

/** An administrator of a guild has every permission. */
export const ADMINISTRATOR = 1n << 3n;

/** An option of a slash command: a member of the guild, a whole number, or a text. */
export interface ChatCommandOption {
  name: string;
  description: string;
  kind: 'member' | 'integer' | 'text';
  required: boolean;
  /** The maximum length of a text. */
  maxLength?: number;
}

export interface ChatCommand {
  /** What the chat platform shows while a person types the command: at most 100 characters. */
  description: string;
  /**
   * The permission that a member needs; null for everybody. An administrator of the guild may show the command to others,
   * so the permission is checked in each interaction too.
   */
  permission: ChatPermission | null;
  options: readonly ChatCommandOption[];
}

const person: readonly ChatCommandOption[] = [
  { name: 'member', description: 'A member of this server', kind: 'member', required: false },
  { name: 'game_id', description: 'The ID of a game account', kind: 'integer', required: false },
];

/** The slash commands, by name. `guildctl chat commands install` registers them at the chat platform. */
export const CHAT_COMMANDS = {
  verify: {
    description: 'Shows your linked game account, or a code with which you link it',
    permission: null,
    options: [],
  },
  roles: { description: 'Updates your roles and explains them', permission: null, options: [] },
  whois: {
    description: 'Shows what is known about a player. For staff',
    permission: 'MODERATE_MEMBERS',
    options: person,
  },
  ban: {
    description: 'Bans a player from the game. For staff',
    permission: 'BAN_MEMBERS',
    options: [
      {
        name: 'reason',
        description: 'The reason, which the player sees',
        kind: 'text',
        required: true,
        maxLength: 400,
      },
      ...person,
      {
        name: 'duration',
        description: 'Such as 30m, 12h or 7d; permanent if left out',
        kind: 'text',
        required: false,
        maxLength: 13,
      },
    ],
  },
} as const satisfies Record<string, ChatCommand>;

export type ChatCommandName = keyof typeof CHAT_COMMANDS;

export const CHAT_COMMAND_NAMES = Object.keys(CHAT_COMMANDS) as ChatCommandName[];

export const isChatCommand = (name: string): name is ChatCommandName => Object.hasOwn(CHAT_COMMANDS, name);
