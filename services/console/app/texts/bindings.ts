import type { BindingAuthority, BindingType } from '#clients/typescript/src/operations-types.ts';

export const bindingTypeTexts: Record<BindingType, { label: string; hint: string }> = {
  group_rank: { label: 'Rank in a group', hint: 'Members of a group of the game platform, from one rank to another.' },
  gamepass: { label: 'Game pass', hint: 'Everybody who owns a game pass.' },
  badge: { label: 'Badge', hint: 'Everybody who has earned a badge.' },
  asset: { label: 'Item', hint: 'Everybody who owns an item, such as a hat or a shirt.' },
  account_age: { label: 'Age of the account', hint: 'Everybody whose account is at least some days old.' },
  verified: { label: 'Verified', hint: 'Everybody with a linked game account.' },
  unverified: { label: 'Not verified', hint: 'Everybody without a linked game account.' },
};

export const authorityTexts: Record<BindingAuthority | '', { label: string; hint: string }> = {
  '': {
    label: 'As usual',
    hint: 'A sync takes it from verified members, whoever gave it; from others only if it gave it.',
  },
  grant: { label: 'Never', hint: 'The role stays once it was given.' },
  managed: { label: 'If a sync gave it', hint: 'A role that somebody else gave stays.' },
  own: { label: 'Always', hint: 'Whoever gave it, also from members without a linked game account.' },
};

export const bindingsTexts = {
  title: 'Role bindings',
  description: 'Which role of the chat platform members get for what they have in the game.',
  add: 'Bind a role',
  sync: 'Sync everybody',
  role: 'Role',
  condition: 'Who gets it',
  priority: 'Priority',
  actions: 'Actions',
  test: 'Test',
  edit: 'Edit',
  remove: 'Remove',
  testLabel: (role: string) => `Test the binding of ${role} on a member`,
  editLabel: (role: string) => `Edit the binding of ${role}`,
  removeLabel: (role: string) => `Remove the binding of ${role}`,
  emptyTitle: 'No role has a binding yet',
  empty: 'Bind a role, and members get it for a rank in a group, a game pass, a badge, an item or an old account.',
  emptyForOthers: 'An admin can bind roles here.',
  deleted: (id: string) => `Deleted role ${id}`,
  blocked: 'The bot cannot assign it',
  removeTitle: (role: string) => `Remove this binding of ${role}?`,
  removeLast: (role: string) =>
    `It is the only binding of ${role}. Members keep the role for now; the next sync removes it from those who got it from a sync.`,
  removeOne: (role: string) =>
    `At the next sync, members who match no other binding of ${role} lose the role. Until then nothing changes.`,
  removed: 'The binding was removed.',
  previewRemoval: 'Show who would lose it',
};

/** Sentences that say who gets a role. */
export const conditionTexts = {
  group: (id: number) => `group ${id}`,
  anyRank: (group: string) => `Any member of ${group}`,
  rank: (group: string, min: number, max: number) =>
    min === max ? `Rank ${min} in ${group}` : `Rank ${min} to ${max} in ${group}`,
  rankFrom: (group: string, min: number) => `Rank ${min} or higher in ${group}`,
  gamepass: (id: number) => `Owns game pass ${id}`,
  asset: (id: number) => `Owns item ${id}`,
  badge: (id: number) => `Has badge ${id}`,
  age: (platform: 'chat' | 'game', days: number) =>
    `${platform === 'chat' ? 'Chat' : 'Game'} account is at least ${days} ${days === 1 ? 'day' : 'days'} old`,
  verified: 'Has a linked game account',
  unverified: 'Has no linked game account',
  and: '; and ',
  unknown: 'Unknown condition',
};

export const roleHelpTexts = {
  managed: 'Managed by another integration, so the bot cannot give it.',
  tooHigh: 'Too high for the bot.',
  drag: (bot: string) =>
    `The bot cannot give some roles. To change that, open the role settings of the chat platform and drag ${bot} above the role.`,
  botRole: 'the bot’s own role',
  named: (name: string) => `the bot’s role “${name}”`,
};

export const editorTexts = {
  addTitle: 'Bind a role',
  editTitle: (role: string) => `Binding of ${role}`,
  addDescription: 'Choose a role and who gets it, see what it would do, then save.',
  back: 'All bindings',
  missingTitle: 'This binding does not exist',
  missing: 'It may have been removed.',
  roleStep: '1. Which role?',
  findRole: 'Find a role',
  noRole: 'No role has this name.',
  conditionStep: '2. Who gets it?',
  authority: 'Who does not match loses the role',
  nickname: 'Nickname of members who match',
  nicknameHint: 'Optional. May hold {game_username}, {chat_username} and {rank_name}.',
  type: 'Condition',
  furtherCondition: (number: number) => `Further condition ${number}`,
  conditionsFault: (fault: string) => `A further condition ${fault}.`,
  addCondition: 'Add a further condition',
  removeCondition: (number: number) => `Remove further condition ${number}`,
  groupId: 'Group ID',
  groupHint: 'The number in the address of the group’s page.',
  knownGroups: 'Groups of other bindings',
  group: (name: string) => `Group: ${name}`,
  checking: 'Looking the group up…',
  minRank: 'Lowest rank',
  maxRank: 'Highest rank',
  rankHint: '1 to 255; 0 is everybody who is not in the group.',
  gamepassId: 'Game pass ID',
  assetId: 'Item ID',
  badgeId: 'Badge ID',
  itemHint: 'The number in the address of its page. It is checked at the preview.',
  platform: 'Which account?',
  platforms: { game: 'Account of the game platform', chat: 'Account of the chat platform' },
  days: 'Days',
  priority: 'Priority',
  priorityHint:
    'Optional. Lower numbers come first in the list. A member who matches several bindings gets the nickname of the first one that has one; roles do not depend on it.',
  previewStep: '3. What would it do?',
  previewHint: 'Nothing is changed by looking.',
  preview: 'Preview',
  previewAgain: 'Preview again',
  outdated: 'You changed the binding since this preview.',
  save: 'Save binding',
  saveUnseen: 'Save without preview',
  savedTitle: 'The binding is saved',
  saved: 'Members get or lose the role at their next sync, for example when they link their account. Or sync now.',
  nobody: 'Nobody gains or loses the role now.',
  another: 'Bind another role',
  done: 'To all bindings',
  faults: {
    role: 'Choose a role.',
    id: 'Enter the number, digits only.',
    rank: 'Enter a whole number from 0 to 255.',
    range: 'The highest rank must not be below the lowest.',
    days: 'Enter a whole number from 0 to 36,500.',
    priority: 'Enter a whole number, or nothing.',
  },
};

export const previewTexts = {
  progress: 'Checking all members',
  paused: 'Waiting for a platform that does not respond. The preview continues by itself.',
  failed: 'The preview could not be finished.',
  gain: (count: number) => `${count.toLocaleString('en')} ${count === 1 ? 'gains' : 'gain'}`,
  lose: (count: number) => `${count.toLocaleString('en')} ${count === 1 ? 'loses' : 'lose'}`,
  sentence: (gained: number, lost: number, role: string) => {
    if (gained === 0 && lost === 0) return `Nobody gains or loses ${role}.`;
    const losing = previewTexts.lose(lost);
    if (gained === 0) return `${losing} ${role}.`;
    return `${previewTexts.gain(gained)} ${role}${lost === 0 ? '.' : `, ${losing} it.`}`;
  },
  unknown: (count: number) =>
    `For ${count.toLocaleString('en')} ${count === 1 ? 'member' : 'members'} the game platform cannot tell now; nothing would change for them.`,
  gained: 'Gain the role',
  lost: 'Lose the role',
  more: (count: number) => `And ${count.toLocaleString('en')} more.`,
};

export const syncTexts = {
  title: 'Sync everybody',
  description: 'Gives and removes roles so that every member with a linked account has what the bindings say.',
  group: 'Roles bound to ranks of',
  noGroups:
    'Only roles that are bound to ranks of a group can be synced for everybody. Sync other roles from the page of a person.',
  start: 'Sync now',
  progress: 'Syncing members',
  paused: 'Waiting for a platform that does not respond. The sync continues by itself.',
  background: 'You may close this: the sync goes on.',
  done: (changed: number, failed: number) =>
    `Done: ${changed.toLocaleString('en')} ${changed === 1 ? 'member' : 'members'} changed${failed === 0 ? '.' : `, ${failed.toLocaleString('en')} failed.`}`,
  failed: 'The sync could not be finished.',
  errors: 'What failed',
  members: (count: number) => `Sync these ${count.toLocaleString('en')} members now`,
  membersProgress: 'Syncing these members',
  close: 'Close',
};

export const testTexts = {
  title: 'Test on a member',
  titleOf: (role: string) => `Test the binding of ${role}`,
  member: 'Member',
  memberHint: 'Search by the name in the chat or the game.',
  yes: (name: string, role: string) => `${name} matches, and should have ${role}.`,
  no: (name: string) => `${name} does not match.`,
  unknown: 'The game platform cannot tell now. Try again later.',
  notVerified: (name: string) => `${name} has not linked a game account, so no binding matches.`,
  notInGuild: 'This account is not a member of the guild.',
  has: (role: string) => `Has ${role} now.`,
  lacks: (role: string) => `Does not have ${role} now.`,
  otherMatch: 'Another binding of this role matches, which is enough.',
  person: 'Everything about this person',
  gone: 'This binding was removed.',
};
