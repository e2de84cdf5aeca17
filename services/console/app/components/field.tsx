import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { ApiError } from '../api/errors.ts';

export interface FieldProps {
  label: string;
  /** A sentence below the label that helps to fill in the field. */
  hint?: ComponentChildren;
  /** What is wrong with the value, and how to correct it. */
  error?: string | undefined;
}

interface Control {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
}

/** Label, hint and error around any control; `children` gets the attributes that connect it with them. */
export function Field({ label, hint, error, children }: FieldProps & { children: (control: Control) => JSX.Element }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': error ? true : undefined })}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface InputProps {
  type?: 'text' | 'number' | 'url' | 'date' | 'datetime-local';
  inputMode?: 'text' | 'numeric';
  placeholder?: string;
  min?: number | string;
  max?: number | string;
  maxLength?: number;
  autoFocus?: boolean;
  disabled?: boolean;
}

/** A field for one line of text. */
export function TextField(props: FieldProps & InputProps & { value: string; onChange: (value: string) => void }) {
  const { label, hint, error, value, onChange, ...others } = props;
  // The types of elements have one shape per type of input, of which the compiler cannot choose one here.
  const attributes: object = others;
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          autocomplete="off"
          {...attributes}
          {...control}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A field for several lines of text. */
export function TextArea(
  props: FieldProps & { value: string; onChange: (value: string) => void; rows?: number; maxLength?: number },
) {
  const { label, hint, error, value, onChange, rows = 3, maxLength } = props;
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <textarea
          {...control}
          rows={rows}
          maxLength={maxLength}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface Option<Value extends string> {
  value: Value;
  label: string;
}

/** A choice of one from a list. */
export function Select<Value extends string>(
  props: FieldProps & { value: Value; onChange: (value: Value) => void; options: readonly Option<Value>[] },
) {
  const { label, hint, error, value, onChange, options } = props;
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A choice of one from a few that are all visible, each with a sentence that explains it. */
export function RadioGroup<Value extends string>(props: {
  label: string;
  value: Value;
  onChange: (value: Value) => void;
  options: readonly (Option<Value> & { hint?: string | undefined })[];
}) {
  const name = useId();
  return (
    <fieldset class="choices">
      <legend>{props.label}</legend>
      {props.options.map(({ value, label, hint }) => (
        <label key={value} class="choice">
          <input
            type="radio"
            name={name}
            value={value}
            checked={props.value === value}
            onChange={() => props.onChange(value)}
          />
          <span>
            <span class="choice-label">{label}</span>
            {hint && <span class="hint">{hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** A box to tick, with a sentence that explains it. */
export function Checkbox(props: {
  label: ComponentChildren;
  hint?: ComponentChildren;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <label class="choice">
      <input
        type="checkbox"
        checked={props.checked}
        disabled={props.disabled}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <span>
        <span class="choice-label">{props.label}</span>
        {props.hint && <span class="hint">{props.hint}</span>}
      </span>
    </label>
  );
}

/** The message of an error about one field of the body or query, such as `game_id`; undefined if there is none. */
export function faultOf(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { errors } = error.details as { errors?: { path: string; message: string }[] };
  return errors?.find(({ path }) => path.split('.').slice(1).join('.').split(/[.[]/)[0] === field)?.message;
}
