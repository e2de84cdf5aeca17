import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { Badge, Card, EmptyState } from '../../components/states.tsx';
import { PlainLayout } from '../../shell/layout.tsx';
import { Page } from '../../shell/page.tsx';
import { RequireSession } from '../../shell/require-session.tsx';
import { useSession } from '../../shell/session.tsx';
import { roleTexts, shellTexts, guildsTexts as texts } from '../../texts.ts';

const GUILD_ID = /^[0-9]{5,20}$/;

/** The first page: a choice of guilds, or the only guild. */
export const GuildsPage = () => (
  <RequireSession>
    <Guilds />
  </RequireSession>
);

function Guilds() {
  const { session } = useSession();
  const { route } = useLocation();
  const guilds = session?.guilds ?? [];
  const [only] = guilds.length === 1 && !session?.is_operator ? guilds : [];
  useEffect(() => {
    if (only) route(`/guilds/${only.guild_id}/overview`, true);
  }, [only]);
  if (only) return null;
  return (
    <PlainLayout>
      <Page title={texts.title} description={guilds.length > 0 ? texts.description : undefined}>
        <Card isFlush>
          {guilds.length === 0 && (
            <EmptyState icon="people" title={texts.emptyTitle}>
              {texts.empty}
            </EmptyState>
          )}
          <ul class="rows">
            {guilds.map(({ guild_id, guild_name, role }) => (
              <li key={guild_id}>
                <a class="row row-link" href={`/guilds/${guild_id}/overview`}>
                  <span class="row-main">
                    <strong>{guild_name ?? shellTexts.unnamedGuild(guild_id)}</strong>
                  </span>
                  <Badge kind="accent">{roleTexts[role]}</Badge>
                  <Icon name="arrow" />
                </a>
              </li>
            ))}
          </ul>
        </Card>
        {session?.is_operator && <OtherGuild />}
      </Page>
    </PlainLayout>
  );
}

function OtherGuild() {
  const { route } = useLocation();
  const [id, setId] = useState('');
  const [isChecked, setIsChecked] = useState(false);
  const isValid = GUILD_ID.test(id);
  return (
    <Card title={texts.openOther} description={texts.openOtherHint}>
      <form
        class="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setIsChecked(true);
          if (isValid) route(`/guilds/${id}/overview`);
        }}
      >
        <TextField
          label={texts.guildId}
          inputMode="numeric"
          value={id}
          error={isChecked && !isValid ? texts.guildIdFault : undefined}
          onChange={(text) => setId(text.trim())}
        />
        <div>
          <Button type="submit">{texts.open}</Button>
        </div>
      </form>
    </Card>
  );
}
