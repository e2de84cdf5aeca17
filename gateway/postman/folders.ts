/**
 * A folder of the collection: operations in an order in which they succeed, because earlier ones create what later ones
 * need.
 */
export interface FolderPlan {
  name: string;
  description: string;
  operations: readonly string[];
}

/** The folders by the reader's topics. Operations that are not listed are added to the folder of their tag. */
export const FOLDERS: readonly FolderPlan[] = [
  {
    name: 'Start',
    description: 'Check the address and the key.',
    operations: ['getHealth', 'whoami', 'getUsage', 'getOverview', 'getDoctor'],
  },
  {
    name: 'Verification',
    description: 'Link chat accounts with game accounts, and look links up.',
    operations: [
      'createVerificationToken',
      'getVerificationToken',
      'redeemVerificationToken',
      'linkAccount',
      'listVerifiedUsers',
      'getLinks',
      'getLinkByChatId',
      'getLinkByGameId',
      'getLinkStatuses',
      'reverseLookup',
      'unlinkAccount',
    ],
  },
  {
    name: 'Sync',
    description: 'Members, role bindings, and the sync of roles and nicknames.',
    operations: [
      'listMembers',
      'getMember',
      'searchPeople',
      'resolveNames',
      'explainRoles',
      'listRoles',
      'updateSettings',
      'getSettings',
      'createInvite',
      'validateBinding',
      'addBinding',
      'updateBinding',
      'testBinding',
      'previewBinding',
      'listBindings',
      'syncRoles',
      'syncGroup',
      'getSyncJob',
      'syncNickname',
      'removeBinding',
    ],
  },
  {
    name: 'Moderation',
    description: 'Bans, mutes and the flagged list.',
    operations: [
      'banPlayer',
      'getBanStatus',
      'listActiveBans',
      'unbanPlayer',
      'mutePlayer',
      'getMuteStatus',
      'listActiveMutes',
      'unmutePlayer',
      'getPlayerStatuses',
      'listModerationLogs',
      'flagPlayer',
      'listFlags',
      'checkShield',
      'checkShieldBatch',
      'unflagPlayer',
      'getPerson',
    ],
  },
  {
    name: 'Servers',
    description: 'Game servers and the commands that they receive.',
    operations: [
      'registerGame',
      'sendServerHeartbeat',
      'listServers',
      'getServer',
      'findPlayerServer',
      'sendCommand',
      'listCommands',
      'getCommand',
      'pollCommands',
      'acknowledgeCommand',
      'cancelCommand',
    ],
  },
  {
    name: 'Staff',
    description: 'Sessions and actions of staff members.',
    operations: [
      'getStaffPermissions',
      'startStaffSession',
      'sendStaffHeartbeat',
      'logStaffAction',
      'listSessions',
      'listActions',
      'getStaffReport',
      'endStaffSession',
    ],
  },
  {
    name: 'Events',
    description: 'Everything that happens to the data of the guild: read it, stream it, or receive it by webhook.',
    operations: [
      'listEvents',
      'streamEvents',
      'createWebhook',
      'getWebhook',
      'listWebhooks',
      'updateWebhook',
      'testWebhook',
      'rotateWebhookSecret',
      'replayWebhook',
      'listWebhookDeliveries',
      'deleteWebhook',
    ],
  },
];

/** The folder of operations that no folder lists, by their tag. */
export const FOLDER_OF_TAG: Record<string, string> = {
  gateway: 'Start',
  auth: 'Start',
  lookup: 'Verification',
  members: 'Verification',
  bindings: 'Sync',
  moderation: 'Moderation',
  activity: 'Servers',
  events: 'Events',
};

/** What the response to an operation provides for later requests: variables, each with its path in the body. */
export const KEPT: Record<string, Record<string, string>> = {
  createVerificationToken: { token: 'data.token', code: 'data.code' },
  addBinding: { bindingId: 'data.id' },
  syncGroup: { jobId: 'data.job_id' },
  sendCommand: { commandId: 'data.command_id' },
  startStaffSession: { sessionId: 'data.session_id' },
  listEvents: { seq: 'data.oldest_seq' },
  createWebhook: { webhookId: 'data.id' },
};

/** The names of variables with numeric values, which are written without quotes in JSON bodies. */
export const NUMBERS: readonly string[] = ['bindingId', 'seq'];

/** The variable of a path parameter whose name is not that of the variable. */
export const VARIABLE_OF_PARAMETER: Record<string, string> = { id: 'webhookId', identifier: 'gameId' };

/** The variable that replaces the example of a field in a request body. */
export const VARIABLE_OF_FIELD: Record<string, string> = {
  guild_id: 'guildId',
  binding_id: 'bindingId',
  session_id: 'sessionId',
  code: 'code',
  server_id: 'serverId',
};
