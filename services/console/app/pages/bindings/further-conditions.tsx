import type { Binding } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { Note } from '../../components/states.tsx';
import { editorTexts as texts } from '../../texts.ts';
import {
  type BindingForm,
  type ConditionFaults,
  type ConditionForm,
  MAX_CONDITIONS,
  NEW_CONDITION,
} from './binding-form.ts';
import { ConditionFields } from './condition-fields.tsx';

export interface FurtherConditionsProps {
  conditions: BindingForm['conditions'];
  onChange: (conditions: BindingForm['conditions']) => void;
  /** By the index of the condition. */
  faults: readonly ConditionFaults[];
  /** What the service says is wrong with the conditions. */
  error: string | undefined;
  /** The other bindings, whose groups are offered. */
  bindings: readonly Binding[];
}

/** The conditions of a binding besides its own, all of which a member must meet as well. */
export function FurtherConditions({ conditions, onChange, faults, error, bindings }: FurtherConditionsProps) {
  const change = (index: number, changed: Partial<ConditionForm>) =>
    onChange(conditions.map((condition, at) => (at === index ? { ...condition, ...changed } : condition)));
  return (
    <>
      {conditions.map((condition, index) => (
        <fieldset class="stack" key={index}>
          <legend>{texts.furtherCondition(index + 1)}</legend>
          <ConditionFields
            form={condition}
            change={(changed) => change(index, changed)}
            faults={faults[index] ?? {}}
            isStored={false}
            bindings={bindings}
          />
          <div class="row-actions">
            <Button onClick={() => onChange(conditions.filter((_, at) => at !== index))}>
              {texts.removeCondition(index + 1)}
            </Button>
          </div>
        </fieldset>
      ))}
      {error && <Note kind="bad">{texts.conditionsFault(error)}</Note>}
      {conditions.length < MAX_CONDITIONS && (
        <div class="row-actions">
          <Button icon="plus" onClick={() => onChange([...conditions, NEW_CONDITION])}>
            {texts.addCondition}
          </Button>
        </div>
      )}
    </>
  );
}
