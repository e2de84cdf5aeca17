import { render } from 'preact';
import { LocationProvider, Route, Router } from 'preact-iso';
import { ConfirmProvider } from './components/confirm.tsx';
import { ToastProvider } from './components/toast.tsx';
import { GUILD_PAGES } from './guild-pages.ts';
import { AccountPage } from './pages/account/account.tsx';
import { GuildsPage } from './pages/guilds/guilds.tsx';
import { JoinedPage, JoinPage } from './pages/join/join.tsx';
import { LinkPage } from './pages/sign-in/link.tsx';
import { SignInPage } from './pages/sign-in/sign-in.tsx';
import { ErrorBoundary } from './shell/error-boundary.tsx';
import { GuildArea, NotFound, ToOverview } from './shell/guild-area.tsx';
import { PlainLayout } from './shell/layout.tsx';
import { SessionProvider } from './shell/session.tsx';

const Guilds = () => <GuildArea pages={GUILD_PAGES} />;
const Missing = () => (
  <PlainLayout>
    <NotFound />
  </PlainLayout>
);

/** Links to the console's own endpoints, such as those that start to sign in, are left to the browser. */
const OF_THE_APP = /^\/(?!console\/)/;

function App() {
  return (
    <LocationProvider scope={OF_THE_APP}>
      <ErrorBoundary>
        <SessionProvider>
          <ToastProvider>
            <ConfirmProvider>
              <Router>
                <Route path="/" component={GuildsPage} />
                <Route path="/sign-in" component={SignInPage} />
                <Route path="/sign-in/link" component={LinkPage} />
                <Route path="/join/:guildId" component={JoinPage} />
                <Route path="/joined" component={JoinedPage} />
                <Route path="/account" component={AccountPage} />
                <Route path="/guilds/:guildId" component={ToOverview} />
                <Route path="/guilds/:guildId/*" component={Guilds} />
                <Route default component={Missing} />
              </Router>
            </ConfirmProvider>
          </ToastProvider>
        </SessionProvider>
      </ErrorBoundary>
    </LocationProvider>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
