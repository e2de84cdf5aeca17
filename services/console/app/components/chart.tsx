import { useId } from 'preact/hooks';

export interface Bar {
  label: string;
  value: number;
  /** The value in words, such as `3 hours 5 minutes`. */
  text: string;
}

const HEIGHT = 120;
const STEP = 40;

/** Bars with a caption, and the same figures as a list for people who do not see them. */
export function BarChart({ label, bars }: { label: string; bars: readonly Bar[] }) {
  const id = useId();
  const largest = Math.max(1, ...bars.map(({ value }) => value));
  const width = bars.length * STEP;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${width} ${HEIGHT + 22}`} role="img" aria-labelledby={id} preserveAspectRatio="xMinYMid meet">
        <title id={id}>{`${label}: ${bars.map((bar) => `${bar.label} ${bar.text}`).join(', ')}`}</title>
        <line x1="0" y1={HEIGHT} x2={width} y2={HEIGHT} class="chart-line" />
        {bars.map((bar, index) => {
          const height = bar.value === 0 ? 0 : Math.max(2, (bar.value / largest) * (HEIGHT - 8));
          return (
            <g key={bar.label}>
              <rect class="chart-bar" x={index * STEP + 6} y={HEIGHT - height} width={STEP - 12} height={height} rx="3">
                <title>{`${bar.label}: ${bar.text}`}</title>
              </rect>
              <text x={index * STEP + STEP / 2} y={HEIGHT + 16} text-anchor="middle">
                {bar.label}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

/** How much of a known amount is done or used. */
export function Progress(props: {
  label: string;
  value: number;
  max: number;
  text?: string;
  kind?: 'plain' | 'warn' | 'bad';
}) {
  const { label, value, max, text, kind = 'plain' } = props;
  const share = max === 0 ? 0 : Math.min(1, value / max);
  return (
    <div class={`progress progress-${kind}`}>
      <div class="progress-words">
        <span>{label}</span>
        <span>{text ?? `${value} / ${max}`}</span>
      </div>
      <div
        class="progress-track"
        role="progressbar"
        aria-label={label}
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  );
}
