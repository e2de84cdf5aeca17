import { useState } from 'preact/hooks';
import { durationTexts as texts } from '../texts.ts';
import { TextField } from './field.tsx';
import { exactText } from './time.tsx';

/** Seconds, or null for a duration without an end. */
export type DurationValue = number | null;

const CHOICES: readonly { label: string; seconds: DurationValue }[] = [
  { label: texts.hour, seconds: 3_600 },
  { label: texts.day, seconds: 86_400 },
  { label: texts.threeDays, seconds: 259_200 },
  { label: texts.week, seconds: 604_800 },
  { label: texts.month, seconds: 2_592_000 },
  { label: texts.forever, seconds: null },
];

/** A choice of how long something lasts: common durations, or a number of days. Says when it would end. */
export function DurationPicker(props: {
  label: string;
  value: DurationValue;
  onChange: (value: DurationValue) => void;
}) {
  const { label, value, onChange } = props;
  const [isCustom, setIsCustom] = useState(!CHOICES.some(({ seconds }) => seconds === value));
  return (
    <fieldset class="duration">
      <legend>{label}</legend>
      <div class="chips">
        {CHOICES.map((choice) => (
          <label key={choice.label} class="chip">
            <input
              type="radio"
              name="duration"
              checked={!isCustom && value === choice.seconds}
              onChange={() => {
                setIsCustom(false);
                onChange(choice.seconds);
              }}
            />
            <span>{choice.label}</span>
          </label>
        ))}
        <label class="chip">
          <input type="radio" name="duration" checked={isCustom} onChange={() => setIsCustom(true)} />
          <span>{texts.custom}</span>
        </label>
      </div>
      {isCustom && (
        <TextField
          label={texts.days}
          type="number"
          min={1}
          max={3650}
          value={value === null ? '' : String(Math.max(1, Math.round(value / 86_400)))}
          onChange={(days) => onChange(Math.max(1, Math.min(3_650, Number(days) || 1)) * 86_400)}
        />
      )}
      <p class="hint">{value === null ? texts.noEnd : texts.ends(exactText(Date.now() / 1_000 + value))}</p>
    </fieldset>
  );
}
