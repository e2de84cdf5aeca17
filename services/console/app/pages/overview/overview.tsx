import { getDoctor, getOverview } from '#clients/typescript/src/operations.ts';
import type { GetOverviewResult, GuildCheck } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Card, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { overviewTexts as texts } from '../../texts.ts';
import { FirstSteps } from './first-steps.tsx';

/** The state of the guild at a glance: what needs attention, the first steps, and counts. */
export function OverviewPage() {
  const guild = useGuild();
  const doctor = useData((signal) => getDoctor(guild.rest, { signal }), []);
  const overview = useData((signal) => getOverview(guild.rest, { signal }), []);
  const counts = overview.data?.counts;
  return (
    <Page
      title={texts.title}
      description={guild.name}
      actions={
        <Button
          icon="refresh"
          isBusy={doctor.isLoading && doctor.data !== undefined}
          onClick={() => {
            doctor.reload();
            overview.reload();
          }}
        >
          {texts.checkAgain}
        </Button>
      }
    >
      {doctor.data && counts && <FirstSteps checks={doctor.data.checks} counts={counts} />}
      {overview.error ? (
        <ErrorNote error={overview.error} onRetry={overview.reload} />
      ) : (
        <Counts overview={overview.data} />
      )}
      {doctor.error && <ErrorNote error={doctor.error} onRetry={doctor.reload} />}
      {!doctor.data && !doctor.error && (
        <Card title={texts.setup}>
          <Skeleton rows={4} />
        </Card>
      )}
      {doctor.data && <Doctor checks={doctor.data.checks} />}
    </Page>
  );
}

const PAGES: Record<keyof GetOverviewResult['counts'], string> = {
  players: 'live',
  live_servers: 'live',
  open_staff_sessions: 'staff',
  active_bans: 'moderation',
  active_mutes: 'moderation?list=mutes',
  flagged_players: 'moderation?list=flagged',
  links: 'people',
  bindings: 'bindings',
  webhooks: 'webhooks',
  failing_webhooks: 'webhooks',
};

function Counts({ overview }: { overview: GetOverviewResult | undefined }) {
  const guild = useGuild();
  const names = (Object.keys(PAGES) as (keyof GetOverviewResult['counts'])[]).filter(
    (name) => PAGES[name] !== 'webhooks' || (guild.hasScope('webhooks:read') && name !== 'failing_webhooks'),
  );
  const shown = (name: keyof GetOverviewResult['counts']) => {
    const count = overview?.counts[name];
    if (count === undefined) return '\u00a0';
    if (count === null) return texts.unknown;
    const text = count.toLocaleString();
    return overview?.minimums.includes(name) ? texts.atLeast(text) : text;
  };
  return (
    <section aria-label={texts.countsTitle} aria-busy={!overview}>
      {overview && overview.omitted.length > 0 && <Note kind="warn">{texts.incomplete}</Note>}
      <ul class="tiles">
        {names.map((name) => (
          <li key={name}>
            <a class="tile" href={guild.path(PAGES[name])}>
              <span class="tile-number">{shown(name)}</span>
              <span class="tile-label">{texts.counts[name]}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Doctor({ checks }: { checks: readonly GuildCheck[] }) {
  const faults = checks.filter(({ ok }) => !ok);
  const advice = checks.filter(({ ok, fix }) => ok && fix !== null);
  const passed = checks.filter(({ ok, fix }) => ok && fix === null);
  const isGood = faults.length === 0;
  return (
    <Card
      title={
        <span class={isGood ? 'verdict verdict-good' : 'verdict verdict-warn'}>
          <Icon name={isGood ? 'check' : 'warning'} />
          {isGood ? texts.allGood : texts.toDo(faults.length)}
        </span>
      }
    >
      <ul class="checks">
        {faults.map((check) => (
          <Check key={check.name} check={check} kind="bad" />
        ))}
        {advice.map((check) => (
          <Check key={check.name} check={check} kind="advice" />
        ))}
      </ul>
      <details class="more">
        <summary>{texts.passed(passed.length)}</summary>
        <ul class="checks">
          {passed.map((check) => (
            <Check key={check.name} check={check} kind="good" />
          ))}
        </ul>
      </details>
    </Card>
  );
}

const ICONS = { bad: 'warning', advice: 'info', good: 'check' } as const;

function Check({ check, kind }: { check: GuildCheck; kind: keyof typeof ICONS }) {
  return (
    <li class={`check check-${kind}`}>
      <Icon name={ICONS[kind]} />
      <div>
        <p class="check-message">
          {kind === 'advice' && <span class="check-word">{texts.advice}: </span>}
          {check.message}
        </p>
        {check.fix && <p class="check-fix">{check.fix}</p>}
      </div>
    </li>
  );
}
