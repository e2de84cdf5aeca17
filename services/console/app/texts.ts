// All texts that people read. One file per page, so that each can be translated by itself.
export * from './texts/access.ts';
export * from './texts/audit.ts';
export * from './texts/bindings.ts';
export * from './texts/commands.ts';
export * from './texts/components.ts';
export * from './texts/join.ts';
export * from './texts/keys.ts';
export * from './texts/live.ts';
export * from './texts/moderation.ts';
export * from './texts/overview.ts';
export * from './texts/people.ts';
export * from './texts/roles.ts';
export * from './texts/settings.ts';
export * from './texts/shell.ts';
export * from './texts/sign-in.ts';
export * from './texts/staff.ts';
export * from './texts/webhooks.ts';
