export const roleTexts = {
  viewer: 'Viewer',
  moderator: 'Moderator',
  admin: 'Admin',
  owner: 'Owner',
};

export const roleHints = {
  viewer: 'Sees everything except keys, webhooks and the audit; changes nothing.',
  moderator: 'Also bans, mutes, sends commands, and links accounts.',
  admin: 'Also manages bindings, keys, webhooks and who has access.',
  owner: 'Has all rights.',
};
