import type { Driven } from './drive.ts';

const WIDTH = 720;
const HEIGHT = 400;
const MARGIN = { left: 60, right: 190, top: 30, bottom: 50 };
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

export interface Point {
  /** Requests a second. */
  rate: number;
  /** Milliseconds. */
  latency: number;
}

/** Draws latency by rate as SVG, with logarithmic axes and one line for each series. */
export function drawLatency(title: string, series: Readonly<Record<string, readonly Point[]>>): string {
  const points = Object.values(series).flat();
  const x = axis(
    points.map(({ rate }) => rate),
    MARGIN.left,
    WIDTH - MARGIN.right,
  );
  const y = axis(
    points.map(({ latency }) => latency),
    HEIGHT - MARGIN.bottom,
    MARGIN.top,
  );
  const lines = Object.entries(series).map(([name, values], index) => {
    const colour = COLOURS[index % COLOURS.length];
    const path = values.map(({ rate, latency }) => `${x.at(rate)},${y.at(latency)}`).join(' ');
    const key = MARGIN.top + 20 * index;
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>
${values.map(({ rate, latency }) => `<circle cx="${x.at(rate)}" cy="${y.at(latency)}" r="3" fill="${colour}"/>`).join('')}
<text x="${WIDTH - MARGIN.right + 15}" y="${key + 4}" fill="${colour}">${name}</text>`;
  });
  const columns = x.ticks.map(
    (
      tick,
    ) => `<line x1="${x.at(tick)}" x2="${x.at(tick)}" y1="${MARGIN.top}" y2="${HEIGHT - MARGIN.bottom}" stroke="#ddd"/>
<text x="${x.at(tick)}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle">${tick}</text>`,
  );
  const rows = y.ticks.map(
    (
      tick,
    ) => `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y.at(tick)}" y2="${y.at(tick)}" stroke="#ddd"/>
<text x="${MARGIN.left - 8}" y="${y.at(tick) + 4}" text-anchor="end">${tick}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${MARGIN.left}" y="18" font-size="14">${title}</text>
${[...columns, ...rows, ...lines].join('\n')}
<text x="${(MARGIN.left + WIDTH - MARGIN.right) / 2}" y="${HEIGHT - 12}" text-anchor="middle">requests a second</text>
<text x="16" y="${HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 ${HEIGHT / 2})">milliseconds</text>
</svg>
`;
}

/** The p50 and p99 of a scenario at all rates, as series. */
export function seriesOf(driven: readonly Driven[], name: string): Record<string, Point[]> {
  const rows = driven.filter((row) => row.name === name).toSorted((a, b) => a.through.perSecond - b.through.perSecond);
  const points = (of: (row: Driven) => number) =>
    rows.map((row) => ({ rate: row.through.perSecond, latency: of(row) }));
  return {
    [`${name}, p50`]: points(({ through }) => through.latency.p50),
    [`${name}, p99`]: points(({ through }) => through.latency.p99),
  };
}

/** A logarithmic axis with ticks at 1, 2 and 5 times each power of ten. */
function axis(values: readonly number[], from: number, to: number) {
  const powers = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** (power - 4))).flat();
  const [min, max] = [Math.min(...values), Math.max(...values)];
  const low = powers.findLast((power) => power <= min) ?? min;
  const high = powers.find((power) => power >= max) ?? max;
  const at = (value: number) =>
    Math.round(
      (from + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low) || 1)) * (to - from)) * 10,
    ) / 10;
  return {
    at,
    ticks: powers.filter((power) => power >= low && power <= high).map((power) => Number(power.toFixed(4))),
  };
}
