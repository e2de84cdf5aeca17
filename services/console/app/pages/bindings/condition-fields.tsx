import { useEffect, useState } from 'preact/hooks';
import { validateBinding } from '#clients/typescript/src/operations.ts';
import type { Binding, BindingType, ValidateBindingResult } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { RadioGroup, TextField } from '../../components/field.tsx';
import { Note } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { bindingTypeTexts, editorTexts as texts } from '../../texts.ts';
import type { ConditionFaults, ConditionForm } from './binding-form.ts';

export interface ConditionProps {
  form: ConditionForm;
  change: (changed: Partial<ConditionForm>) => void;
  faults: ConditionFaults;
  /** True for a stored binding, of which only the ranks can be changed. */
  isStored: boolean;
  /** The other bindings, whose groups are offered. */
  bindings: readonly Binding[];
}

const TYPES = Object.keys(bindingTypeTexts) as BindingType[];

/** The condition of a binding: its type and the fields of the type. */
export function ConditionFields(props: ConditionProps) {
  const { form, change, faults, isStored } = props;
  const item = { inputMode: 'numeric' as const, hint: texts.itemHint, disabled: isStored };
  return (
    <>
      {!isStored && (
        <RadioGroup
          label={texts.type}
          value={form.type}
          onChange={(type) => change({ type })}
          options={TYPES.map((type) => ({ value: type, ...bindingTypeTexts[type] }))}
        />
      )}
      {form.type === 'group_rank' && <RankFields {...props} />}
      {form.type === 'gamepass' && (
        <TextField
          {...item}
          label={texts.gamepassId}
          error={faults.gamepassId}
          value={form.gamepassId}
          onChange={(text) => change({ gamepassId: text.trim() })}
        />
      )}
      {form.type === 'asset' && (
        <TextField
          {...item}
          label={texts.assetId}
          error={faults.assetId}
          value={form.assetId}
          onChange={(text) => change({ assetId: text.trim() })}
        />
      )}
      {form.type === 'badge' && (
        <TextField
          {...item}
          label={texts.badgeId}
          error={faults.badgeId}
          value={form.badgeId}
          onChange={(text) => change({ badgeId: text.trim() })}
        />
      )}
      {form.type === 'account_age' && <AgeFields {...props} />}
    </>
  );
}

function AgeFields({ form, change, faults, isStored }: ConditionProps) {
  return (
    <>
      {!isStored && (
        <RadioGroup
          label={texts.platform}
          value={form.platform}
          onChange={(platform) => change({ platform })}
          options={[
            { value: 'game', label: texts.platforms.game },
            { value: 'chat', label: texts.platforms.chat },
          ]}
        />
      )}
      <TextField
        label={texts.days}
        inputMode="numeric"
        disabled={isStored}
        error={faults.days}
        value={form.days}
        onChange={(text) => change({ days: text.trim() })}
      />
    </>
  );
}

function RankFields({ form, change, faults, isStored, bindings }: ConditionProps) {
  const groups = new Map(
    bindings.flatMap(({ game_group_id, game_group_name }) =>
      game_group_id === null ? [] : [[String(game_group_id), game_group_name ?? String(game_group_id)] as const],
    ),
  );
  return (
    <>
      <TextField
        label={texts.groupId}
        hint={texts.groupHint}
        inputMode="numeric"
        disabled={isStored}
        error={faults.groupId}
        value={form.groupId}
        onChange={(text) => change({ groupId: text.trim() })}
      />
      {!isStored && groups.size > 0 && (
        <div class="row-actions" role="group" aria-label={texts.knownGroups}>
          {[...groups].map(([id, name]) => (
            <Button key={id} onClick={() => change({ groupId: id })}>
              {name}
            </Button>
          ))}
        </div>
      )}
      <div class="pair">
        <TextField
          label={texts.minRank}
          inputMode="numeric"
          error={faults.minRank}
          value={form.minRank}
          onChange={(text) => change({ minRank: text.trim() })}
        />
        <TextField
          label={texts.maxRank}
          inputMode="numeric"
          error={faults.maxRank}
          value={form.maxRank}
          onChange={(text) => change({ maxRank: text.trim() })}
        />
      </div>
      <p class="hint">{texts.rankHint}</p>
      <GroupName form={form} />
    </>
  );
}

const DELAY_MS = 400;

/** The name of the group as the person types its ID, and why nobody could match, if so. */
function GroupName({ form: { groupId, minRank, maxRank } }: { form: ConditionForm }) {
  const { rest } = useGuild();
  const [result, setResult] = useState<ValidateBindingResult | 'checking'>();
  useEffect(() => {
    const [min, max] = [Number(minRank), Number(maxRank)];
    const isComplete =
      /^[1-9][0-9]{0,15}$/.test(groupId) && minRank !== '' && maxRank !== '' && min <= max && max <= 255;
    setResult(undefined);
    if (!isComplete) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      setResult('checking');
      const args = { game_group_id: groupId, min_rank: min, max_rank: max };
      // The preview reports what is wrong with the platform; here the name is only a help.
      validateBinding(rest, args, { signal: controller.signal }).then(setResult, () => setResult(undefined));
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [groupId, minRank, maxRank]);
  return (
    <div aria-live="polite">
      {result === 'checking' && <p class="hint">{texts.checking}</p>}
      {result && result !== 'checking' && (
        <Note kind={result.valid ? 'good' : 'warn'}>
          {result.group_name !== null && <strong>{texts.group(result.group_name)}</strong>}
          {result.reason && <p>{`${result.reason.charAt(0).toUpperCase()}${result.reason.slice(1)}.`}</p>}
        </Note>
      )}
    </div>
  );
}
