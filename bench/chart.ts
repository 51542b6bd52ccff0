import { plan } from './plan.js';
import type { Ratio } from './rounds.js';

const LEFT = 130;
const WIDTH = 640;
const ROW = 15;
const COLORS: Record<string, string> = { express: '#7a869a', nest: '#b0707a', awaited: '#5b8c85' };

const CAPTION = [
  `Requests per second, service over rival: median of at least ${plan.rounds} rounds, lowest to highest${plan.isQuick ? ' (quick run)' : ''}.`,
  'Rivals have the same database, role settings and SELECTs as the service.',
];

/** Draws the ratios to the rivals: a bar with its spread for each, and a line at 1. */
export function chartOf(ratios: Ratio[]): string {
  const shown = ratios.filter(({ against }) => against in COLORS);
  const most = Math.max(1.5, ...shown.map(({ max }) => max));
  const x = (ratio: number) => (LEFT + (ratio / most) * (WIDTH - LEFT - 60)).toFixed(1);
  const parts: string[] = [];
  let y = 34;
  let workload = '';
  for (const ratio of shown) {
    if (ratio.workload !== workload) {
      workload = ratio.workload;
      y += 8;
      parts.push(`<text x="${LEFT - 8}" y="${y + 11}" text-anchor="end">${workload}</text>`);
    }
    const middle = y + ROW / 2 - 1;
    parts.push(
      `<rect x="${LEFT}" y="${y}" width="${(Number(x(ratio.median)) - LEFT).toFixed(1)}" height="${ROW - 3}" fill="${COLORS[ratio.against]}"/>`,
      `<path d="M${x(ratio.min)} ${middle}H${x(ratio.max)}" stroke="#222"/>`,
      `<text x="${Number(x(ratio.max)) + 6}" y="${y + 10}">${ratio.median.toFixed(2)}</text>`,
    );
    y += ROW;
  }
  const legend = Object.entries(COLORS)
    .map(
      ([name, color], place) => `<text x="${LEFT + place * 90}" y="16" fill="${color}">over ${name}</text>`,
    )
    .join('');
  const bottom = y + 4;
  const caption = CAPTION.map(
    (line, place) => `<text x="12" y="${bottom + 20 + place * ROW}" fill="#444">${line}</text>`,
  );
  const height = bottom + 12 + (CAPTION.length + 0.5) * ROW;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">
<title>${CAPTION.join(' ')}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${legend}
${parts.join('\n')}
<path d="M${x(1)} 26V${bottom}" stroke="#222" stroke-dasharray="3 3"/>
${caption.join('\n')}
</svg>
`;
}
