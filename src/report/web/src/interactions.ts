// Which entries are worse together than apart, and which cancel: a matrix of the most sensitive ones and a list of pairs.

import { h, svg } from './dom';
import { head, section } from './page';
import type { Entry, InteractionsData } from './ranking';

const kPairs = 10;
const kCell = 16;

function signed(value: number): string {
  return `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(2)}`;
}

function words(value: number): string {
  if (Math.abs(value) < 0.1) return 'independent';
  return value > 0 ? 'worse together' : 'they cancel';
}

/** One square per pair; its colour says how the errors add up, a line below says it in words. */
function matrix(data: InteractionsData, entries: readonly Entry[]): HTMLElement {
  const size = data.entries.length;
  const margin = 22;
  const full = margin + size * kCell;
  const picture = svg('svg', {
    viewBox: `0 0 ${full} ${full}`,
    class: 'matrix',
    role: 'img',
    'aria-label': `How the errors of the ${size} most sensitive entries add up; the list beside it has the strongest pairs`,
  });
  const idle = 'Point at a square to read the pair.';
  const reading = h('p', { class: 'reading', role: 'status' }, idle);
  data.matrix.forEach((line, i) => {
    const rank = String(entries[data.entries[i]].rank);
    const at = margin + (i + 0.5) * kCell;
    const left = svg('text', { x: margin - 4, y: at + 3.5, 'text-anchor': 'end' });
    const top = svg('text', { x: at, y: margin - 6, 'text-anchor': 'middle' });
    left.textContent = top.textContent = rank;
    picture.append(left, top);
    line.forEach((value, j) => {
      const known = value !== null && i !== j;
      const square = svg('rect', {
        x: margin + j * kCell + 0.5,
        y: margin + i * kCell + 0.5,
        width: kCell - 1,
        height: kCell - 1,
        rx: 2,
        class: i === j ? 'self' : !known ? 'unknown' : value > 0 ? 'worse' : value < 0 ? 'cancel' : 'unknown',
      });
      if (known) {
        square.setAttribute('fill-opacity', String(Math.min(1, Math.abs(value))));
        square.addEventListener('mouseenter', () => {
          const [a, b] = [entries[data.entries[i]], entries[data.entries[j]]];
          reading.replaceChildren(
            h('b', {}, `${signed(value)} ${words(value)}: `),
            `${a.name} (rank ${a.rank}) and ${b.name} (rank ${b.rank})`,
          );
        });
      }
      picture.append(square);
    });
  });
  picture.addEventListener('mouseleave', () => reading.replaceChildren(idle));
  return h('figure', {}, picture as unknown as HTMLElement, reading);
}

function pair_list(data: InteractionsData): HTMLElement {
  return h(
    'ol',
    { class: 'pairs' },
    ...data.pairs.slice(0, kPairs).map(({ first, second, interaction }) => {
      const value = Number(interaction);
      return h(
        'li',
        {},
        h('span', { class: value > 0 ? 'sign worse' : 'sign cancel', title: words(value) }, signed(value)),
        h('span', { class: 'pair' }, h('span', {}, first), h('span', {}, second)),
      );
    }),
  );
}

export function interactions_section(data: InteractionsData, entries: readonly Entry[]): HTMLElement {
  return section(
    'Interactions',
    head(
      'Errors that add up or cancel',
      h(
        'p',
        { class: 'status' },
        'What two entries do together, against each alone: ',
        h('span', { class: 'sign worse' }, '+1'),
        ' the errors point the same way, 0 they are independent, ',
        h('span', { class: 'sign cancel' }, '-1'),
        ' they cancel.',
      ),
    ),
    h(
      'div',
      { class: 'interactions' },
      matrix(data, entries),
      h('div', {}, h('h3', {}, 'Pairs with the largest effect'), pair_list(data)),
    ),
  );
}
