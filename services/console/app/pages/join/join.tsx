import { useLocation, useRoute } from 'preact-iso';
import { ButtonLink } from '../../components/button.tsx';
import { Card, Note } from '../../components/states.tsx';
import { CONSOLE_PREFIX } from '../../constants.ts';
import { PlainLayout } from '../../shell/layout.tsx';
import { Page } from '../../shell/page.tsx';
import { joinTexts as texts } from '../../texts.ts';

const GUILD_ID = /^[0-9]{17,20}$/;

/** The page that a community gives its players, who join with one button. Needs no session. */
export function JoinPage() {
  const { guildId = '' } = useRoute().params;
  return (
    <PlainLayout>
      <Page title={texts.title} description={texts.description}>
        <Card>
          {GUILD_ID.test(guildId) ? (
            <ButtonLink kind="primary" href={`${CONSOLE_PREFIX}/join/${guildId}/start`}>
              {texts.action}
            </ButtonLink>
          ) : (
            <p>{texts.unknown}</p>
          )}
        </Card>
      </Page>
    </PlainLayout>
  );
}

/** Where the browser returns: the person is in the guild, or reads why not. */
export function JoinedPage() {
  const { query } = useLocation();
  const { guild = '', error } = query;
  const isJoined = error === undefined && GUILD_ID.test(guild);
  return (
    <PlainLayout>
      <Page title={isJoined ? texts.joinedTitle : texts.failedTitle}>
        {isJoined ? (
          <Card>
            <p>{texts.joined}</p>
          </Card>
        ) : (
          <Note kind="bad">{texts.errors[error as keyof typeof texts.errors] ?? texts.otherError}</Note>
        )}
      </Page>
    </PlainLayout>
  );
}
