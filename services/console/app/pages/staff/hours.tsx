import { getStaffReport } from '#clients/typescript/src/operations.ts';
import type { StaffReport, StaffReportMember } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { BarChart } from '../../components/chart.tsx';
import { PersonName } from '../../components/person.tsx';
import { Card, EmptyState, ErrorNote, Skeleton } from '../../components/states.tsx';
import { durationText } from '../../components/time.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { staffTexts as texts } from '../../texts.ts';

const WEEKS = 8;
const WEEK_SECONDS = 604_800;
const MAX_PEOPLE = 100;
const HOURS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A chart per person with the hours of each week. */
export function HoursView() {
  const guild = useGuild();
  const { data, error, reload } = useData((signal) => {
    const to = Math.floor(Date.now() / 1_000);
    const tz = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const period = { from: to - (WEEKS - 1) * WEEK_SECONDS, to, tz, interval: 'week', limit: MAX_PEOPLE } as const;
    return getStaffReport(guild.rest, period, { signal });
  }, []);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!data) return <Skeleton rows={4} />;
  if (data.staff.length === 0) {
    return (
      <Card>
        <EmptyState icon="staff" title={texts.noHoursTitle}>
          {texts.noHours}
        </EmptyState>
      </Card>
    );
  }
  const active = ({ intervals }: StaffReportMember) =>
    intervals.reduce((sum, { seconds, idle_seconds }) => sum + seconds - idle_seconds, 0);
  return (
    <div class="stack-wide">
      <p class="hint">
        {texts.hoursHint} {texts.lastWeeks(WEEKS)}.
      </p>
      <div class="columns">
        {data.staff
          .toSorted((a, b) => active(b) - active(a))
          .map((member) => (
            <Member key={member.game_id} member={member} report={data} total={active(member)} />
          ))}
      </div>
    </div>
  );
}

function Member(props: { member: StaffReportMember; report: StaffReport; total: number }) {
  const { member, report, total } = props;
  const { intervals } = member;
  const sum = (count: (interval: (typeof intervals)[number]) => number) =>
    intervals.reduce((all, interval) => all + count(interval), 0);
  const bars = report.intervals.map(({ date }) => {
    const week = intervals.find((interval) => interval.date === date);
    const seconds = week ? week.seconds - week.idle_seconds : 0;
    const label = DAY.format(new Date(`${date}T00:00:00Z`));
    return { label, value: seconds / 3_600, text: texts.hours(HOURS.format(seconds / 3_600)) };
  });
  return (
    <Card
      title={<PersonName gameId={member.game_id} />}
      description={`${texts.total(durationText(total))} · ${texts.summary(
        sum(({ sessions }) => sessions),
        sum(({ action_count }) => action_count),
      )}`}
    >
      <BarChart label={texts.chart(String(member.game_id))} bars={bars} />
    </Card>
  );
}
