import { getUsage } from '#clients/typescript/src/operations.ts';
import type { RequestCounts } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { BarChart } from '../../components/chart.tsx';
import { Card } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { keysTexts as texts } from '../../texts.ts';

const DAYS = 14;
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'numeric', timeZone: 'UTC' });

/** The requests of all keys by day, and those of the last hour by category. */
export function UsageChart() {
  const guild = useGuild();
  const { data } = useData((signal) => getUsage(guild.rest, { signal }), []);
  if (!data || data.requests.days.length === 0) return null;
  const count = (categories: readonly RequestCounts[]) => categories.reduce((sum, { allowed }) => sum + allowed, 0);
  const days = data.requests.days.slice(0, DAYS).map(({ day, categories }) => {
    const value = count(categories);
    return { label: DAY.format(day * 1_000), value, text: texts.requests(value) };
  });
  const hour = data.requests.last_hour.toSorted((a, b) => b.allowed - a.allowed);
  return (
    <Card title={texts.usage} description={texts.usageHint}>
      <BarChart label={texts.usageChart} bars={days.toReversed()} />
      {hour.length > 0 && (
        <details class="more">
          <summary>{texts.lastHour}</summary>
          <dl class="facts">
            {hour.map(({ category, allowed, rejected }) => (
              <div class="fact" key={category}>
                <dt>{category.replaceAll('_', ' ')}</dt>
                <dd>{texts.counts(allowed, rejected)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </Card>
  );
}
