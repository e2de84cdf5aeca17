import { getUsage } from '#clients/typescript/src/operations.ts';
import { useData } from '../../api/use-data.ts';
import { Progress } from '../../components/chart.tsx';
import { Card, Note } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { liveTexts as texts } from '../../texts.ts';

const NEAR = 0.8;

/** Quotas that are nearly used up, and requests that were rejected because they were too many. Nothing if there are none. */
export function NearLimits() {
  const guild = useGuild();
  const { data } = useData((signal) => getUsage(guild.rest, { signal }), []);
  const quotas = data?.quotas.filter(({ used, limit }) => used >= limit * NEAR) ?? [];
  const rejected = data?.requests.last_hour.filter(({ rejected }) => rejected > 0) ?? [];
  if (quotas.length === 0 && rejected.length === 0) return null;
  return (
    <Card title={texts.limits} description={texts.limitsHint}>
      {quotas.map(({ quota, used, limit }) => (
        <Progress
          key={quota}
          label={texts.quotas[quota]}
          value={used}
          max={limit}
          kind={used >= limit ? 'bad' : 'warn'}
        />
      ))}
      {rejected.map(({ category, rejected: count }) => (
        <Note key={category} kind="warn">
          {texts.rejected(category, count)}
        </Note>
      ))}
    </Card>
  );
}
