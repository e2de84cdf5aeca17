export const signInTexts = {
  title: 'Sign in',
  description: 'For the people who run a community: its owner, admins, moderators and viewers.',
  with: (label: string) => `Continue with ${label}`,
  nothing: 'No way to sign in is set up here. An operator can create a link that signs you in once.',
  linkTitle: 'Sign in with a link',
  linkHint: 'This link works once. It signs you in to one guild in this browser.',
  linkAction: 'Sign in',
  linkMissing: 'The address has no code. Open the whole link that you were given.',
  linkUsed: 'This link was used already, or is older than 10 minutes. Ask for a new one.',
  otherWay: 'Sign in another way',
  errors: {
    INVALID_REQUEST:
      'The sign-in could not be completed: it took longer than 10 minutes, or was started in another browser or window. Start again here.',
    NOT_SIGNED_IN: 'You did not allow the sign-in. You can start again at any time.',
    RATE_LIMITED: 'There were too many attempts from your network. Wait a minute, then start again.',
    PLATFORM_ERROR: 'The service that you sign in with did not respond as expected. Try again in a moment.',
    UNAVAILABLE: 'The service that you sign in with cannot be reached. Try again in a moment.',
    TIMEOUT: 'The service that you sign in with took too long. Try again in a moment.',
  },
  otherError: 'You could not be signed in. Try again, and tell an operator if it happens again.',
};

export const guildsTexts = {
  title: 'Your guilds',
  description: 'Choose the guild that you want to work on.',
  emptyTitle: 'There is no guild for you here yet',
  empty:
    'You see a guild here if you own or administer it on the chat platform, or if one of its admins invited your chat account under Access.',
  open: 'Open',
  openOther: 'Open another guild',
  openOtherHint: 'As an operator you can open every guild that has used this installation.',
  guildId: 'ID of the guild',
  guildIdFault: 'Enter the number of the guild, 5 to 20 digits.',
};

export const accountTexts = {
  title: 'Account',
  description: 'Browsers in which you are signed in.',
  signOut: 'Sign out',
  everywhere: 'Sign out everywhere',
  everywhereTitle: 'Sign out everywhere?',
  everywhereConsequence: 'All browsers in which you are signed in, including this one, have to sign in again.',
  here: 'This browser',
  end: 'Sign out',
  ended: 'That browser is signed out.',
  used: 'Last used',
  from: (address: string) => `from ${address}`,
  signedIn: 'signed in',
  expires: 'ends',
  providers: { chat: 'Chat account', oidc: 'Organization account', link: 'One-time link' },
  unknownBrowser: 'Unknown browser',
};
