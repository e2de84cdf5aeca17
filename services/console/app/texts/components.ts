export const dialogTexts = {
  close: 'Close',
  cancel: 'Cancel',
  undo: 'Undo',
  dismiss: 'Dismiss',
  copy: 'Copy',
  copied: 'Copied',
};

export const stateTexts = {
  retry: 'Try again',
  loading: 'Loading',
  more: 'Load more',
  /** By error code, where the message of the service is written for programs. */
  errors: {
    RATE_LIMITED: 'Too many requests in a short time. Wait a minute, then try again.',
    ROLE_TOO_LOW: 'Your role in this guild does not allow this. Ask an admin of the guild.',
    GUILD_MISMATCH: 'This belongs to another guild.',
    UNAVAILABLE: 'A part of the system is not available. Try again in a moment.',
    TIMEOUT: 'A part of the system took too long. Try again in a moment.',
    PLATFORM_ERROR: 'The platform did not respond as expected. Try again in a moment.',
    INTERNAL: 'Something went wrong on our side. Try again, and tell an operator if it happens again.',
  },
};

export const timeTexts = { justNow: 'just now', soon: 'in a moment', noTime: '0 seconds' };

export const durationTexts = {
  hour: '1 hour',
  day: '1 day',
  threeDays: '3 days',
  week: '1 week',
  month: '30 days',
  forever: 'Permanent',
  custom: 'Other…',
  days: 'Days',
  noEnd: 'Has no end.',
  ends: (time: string) => `Ends ${time}.`,
};

export const personTexts = { unknown: 'Unknown person', chatAccount: 'Chat account', gameAccount: 'Game account' };
