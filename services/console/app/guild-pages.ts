import { AccessPage } from './pages/access/access.tsx';
import { AuditPage } from './pages/audit/audit.tsx';
import { BindingsPage } from './pages/bindings/bindings.tsx';
import { BindingEditorPage } from './pages/bindings/editor.tsx';
import { CommandsPage } from './pages/commands/commands.tsx';
import { KeysPage } from './pages/keys/keys.tsx';
import { LivePage } from './pages/live/live.tsx';
import { ModerationPage } from './pages/moderation/moderation.tsx';
import { OverviewPage } from './pages/overview/overview.tsx';
import { PeoplePage } from './pages/people/people.tsx';
import { PersonPage } from './pages/people/person.tsx';
import { SettingsPage } from './pages/settings/settings.tsx';
import { StaffPage } from './pages/staff/staff.tsx';
import { WebhooksPage } from './pages/webhooks/webhooks.tsx';
import type { GuildPage } from './shell/pages.ts';

/** The pages of a guild, in the order of the navigation. */
export const GUILD_PAGES: readonly GuildPage[] = [
  {
    path: 'overview',
    component: OverviewPage,
    navigation: { name: 'overview', icon: 'overview' },
    isFor: () => true,
  },
  {
    path: 'live',
    component: LivePage,
    navigation: { name: 'live', icon: 'live' },
    isFor: (guild) => guild.hasScope('server:read'),
  },
  {
    path: 'people',
    component: PeoplePage,
    navigation: { name: 'people', icon: 'people', section: 'community' },
    isFor: (guild) => guild.hasScope('members:read'),
  },
  { path: 'people/:id', component: PersonPage, isFor: (guild) => guild.hasScope('members:read') },
  {
    path: 'moderation',
    component: ModerationPage,
    navigation: { name: 'moderation', icon: 'moderation', section: 'community' },
    isFor: (guild) => guild.hasScope('moderation:read'),
  },
  {
    path: 'commands',
    component: CommandsPage,
    navigation: { name: 'commands', icon: 'commands', section: 'community' },
    isFor: (guild) => guild.hasScope('commands:read'),
  },
  {
    path: 'staff',
    component: StaffPage,
    navigation: { name: 'staff', icon: 'staff', section: 'community' },
    isFor: (guild) => guild.hasScope('activity:read'),
  },
  {
    path: 'bindings',
    component: BindingsPage,
    navigation: { name: 'bindings', icon: 'bindings', section: 'setup' },
    isFor: (guild) => guild.hasScope('members:read'),
  },
  { path: 'bindings/new', component: BindingEditorPage, isFor: (guild) => guild.hasScope('sync:write') },
  { path: 'bindings/edit/:bindingId', component: BindingEditorPage, isFor: (guild) => guild.hasScope('sync:write') },
  {
    path: 'settings',
    component: SettingsPage,
    navigation: { name: 'settings', icon: 'settings', section: 'setup' },
    isFor: (guild) => guild.hasScope('sync:read'),
  },
  {
    path: 'keys',
    component: KeysPage,
    navigation: { name: 'keys', icon: 'keys', section: 'setup' },
    isFor: (guild) => guild.may('keys.read'),
  },
  {
    path: 'webhooks',
    component: WebhooksPage,
    navigation: { name: 'webhooks', icon: 'webhooks', section: 'setup' },
    isFor: (guild) => guild.hasScope('webhooks:read'),
  },
  {
    path: 'audit',
    component: AuditPage,
    navigation: { name: 'audit', icon: 'audit', section: 'setup' },
    isFor: (guild) => guild.may('audit.read'),
  },
  {
    path: 'access',
    component: AccessPage,
    navigation: { name: 'access', icon: 'access', section: 'setup' },
    isFor: (guild) => guild.may('access.read'),
  },
];
