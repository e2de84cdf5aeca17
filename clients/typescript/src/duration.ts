/** A duration as text: a number of seconds, minutes, hours or days, or `permanent`. Other units do not compile. */
export type DurationText = 'permanent' | `${number}` | `${number}${'s' | 'm' | 'h' | 'd'}`;

const DURATION = /^(?:permanent|[0-9]{1,12}[smhd]?)$/;

/** True if a text, such as the input of a moderator, is a duration that the API accepts. */
export function isDuration(text: string): text is DurationText {
  return DURATION.test(text);
}
