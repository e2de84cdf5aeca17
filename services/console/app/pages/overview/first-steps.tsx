import type { GetOverviewResult, GuildCheck } from '#clients/typescript/src/operations-types.ts';
import { ButtonLink } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Card } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { overviewTexts as texts } from '../../texts.ts';

/** What a new guild does first. Disappears when all of it is done. */
export function FirstSteps({ checks, counts }: { checks: readonly GuildCheck[]; counts: GetOverviewResult['counts'] }) {
  const guild = useGuild();
  const isOk = (name: string) => checks.some((check) => check.name === name && check.ok);
  const steps = [
    {
      isDone: isOk('api_key'),
      title: texts.keyTitle,
      hint: texts.keyHint,
      action: texts.keyAction,
      page: 'keys',
      isAllowed: guild.may('keys.write'),
    },
    {
      isDone: (counts.live_servers ?? 0) > 0,
      title: texts.pluginTitle,
      hint: texts.pluginHint,
      action: texts.pluginAction,
      page: 'live',
      isAllowed: true,
    },
    {
      isDone: (counts.bindings ?? 0) > 0,
      title: texts.bindingTitle,
      hint: texts.bindingHint,
      action: texts.bindingAction,
      page: 'bindings',
      isAllowed: guild.hasScope('sync:write'),
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  // The game may have no server at the moment, which is no step that was forgotten.
  if (steps.every(({ isDone, page }) => isDone || page === 'live')) return null;
  return (
    <Card title={texts.steps} description={texts.stepsHint}>
      <ol class="steps">
        {steps.map(({ isDone, title, hint, action, page, isAllowed }, index) => (
          <li key={page} class={isDone ? 'step is-done' : 'step'}>
            <span class="step-mark">{isDone ? <Icon name="check" size={18} /> : index + 1}</span>
            <div class="row-main">
              <p class="step-title">
                {title}
                {isDone && <span class="visually-hidden"> ({texts.done})</span>}
              </p>
              {!isDone && <p class="hint">{hint}</p>}
            </div>
            {!isDone && isAllowed && (
              <ButtonLink kind={index === next ? 'primary' : 'plain'} href={guild.path(page)}>
                {action}
              </ButtonLink>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}
