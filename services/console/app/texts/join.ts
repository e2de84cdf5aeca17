export const joinTexts = {
  title: 'Join the community',
  description:
    'For players who verified in the game. You are asked to allow that your chat account is added; then you are in the community, with your roles.',
  action: 'Join with Discord',
  unknown: 'The address of this page is not complete. Open the whole link that you were given.',
  joinedTitle: 'You are in',
  joined: 'Your account was added to the community. Open the chat to see it. Your roles may take a few seconds.',
  failedTitle: 'You could not join',
  errors: {
    NOT_FOUND:
      'Your chat account is not verified in this community. Verify in the game first, then open the link again.',
    NOT_APPLICABLE:
      'You did not allow it, or this community cannot let you join here at the moment. Ask its team for an invite.',
    INVALID_REQUEST:
      'It took longer than 10 minutes, or was started in another browser or window. Open the link of the community again.',
    RATE_LIMITED: 'There were too many attempts from your network. Wait a minute, then open the link again.',
  },
  otherError: 'Something did not respond as expected. Open the link of the community again in a moment.',
};
