import { useEffect } from 'preact/hooks';
import { Route, Router, useLocation, useRoute } from 'preact-iso';
import { ButtonLink } from '../components/button.tsx';
import { ConfirmProvider } from '../components/confirm.tsx';
import { EmptyState } from '../components/states.tsx';
import { roleTexts, shellTexts as texts } from '../texts.ts';
import { ErrorBoundary } from './error-boundary.tsx';
import { GuildProvider, useGuild } from './guild.tsx';
import { GuildLayout, PlainLayout } from './layout.tsx';
import type { GuildPage } from './pages.ts';
import { RequireSession } from './require-session.tsx';
import { useSession } from './session.tsx';

/** All pages below `/guilds/:guildId`. */
export function GuildArea({ pages }: { pages: readonly GuildPage[] }) {
  return (
    <RequireSession>
      <WithRole pages={pages} />
    </RequireSession>
  );
}

function WithRole({ pages }: { pages: readonly GuildPage[] }) {
  const { params } = useRoute();
  const { session } = useSession();
  const id = params['guildId'] ?? '';
  const listed = session?.guilds.find(({ guild_id }) => guild_id === id);
  // An operator has the role `admin` in guilds that are not listed.
  const role = listed?.role ?? (session?.is_operator && /^[0-9]{1,20}$/.test(id) ? 'admin' : undefined);
  if (role === undefined) return <NoAccess />;
  return (
    <GuildProvider key={id} id={id} name={listed?.guild_name ?? null} role={role}>
      {/* Questions of these pages may show what needs the guild, such as names. */}
      <ConfirmProvider>
        <Pages pages={pages} />
      </ConfirmProvider>
    </GuildProvider>
  );
}

function Pages({ pages }: { pages: readonly GuildPage[] }) {
  const guild = useGuild();
  return (
    <GuildLayout pages={pages}>
      <ErrorBoundary>
        <Router>
          {pages.map(({ path, component, isFor }) => (
            <Route key={path} path={`/${path}`} component={isFor(guild) ? component : RoleTooLow} />
          ))}
          <Route default component={NotFound} />
        </Router>
      </ErrorBoundary>
    </GuildLayout>
  );
}

/** `/guilds/:guildId` is where a person arrives after signing in. */
export function ToOverview() {
  const { params } = useRoute();
  const { route } = useLocation();
  useEffect(() => route(`/guilds/${params['guildId'] ?? ''}/overview`, true), []);
  return null;
}

function NoAccess() {
  return (
    <PlainLayout>
      <EmptyState
        icon="access"
        title={texts.noAccessTitle}
        action={
          <ButtonLink kind="primary" href="/">
            {texts.pages.guilds}
          </ButtonLink>
        }
      >
        {texts.noAccess}
      </EmptyState>
    </PlainLayout>
  );
}

/** Shown for a shared link to a page that the role of the person does not include. */
function RoleTooLow() {
  const guild = useGuild();
  return (
    <EmptyState
      icon="access"
      title={texts.roleTooLowTitle}
      action={
        <ButtonLink kind="primary" href={guild.path('overview')}>
          {texts.pages.overview}
        </ButtonLink>
      }
    >
      {texts.roleTooLow(roleTexts[guild.role])}
    </EmptyState>
  );
}

export function NotFound() {
  return (
    <EmptyState
      icon="search"
      title={texts.notFoundTitle}
      action={
        <ButtonLink kind="primary" href="/">
          {texts.toStart}
        </ButtonLink>
      }
    >
      {texts.notFound}
    </EmptyState>
  );
}
