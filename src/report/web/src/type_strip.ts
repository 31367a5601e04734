// Which group has which types in which point of a curve: one row a point, one column a group, a colour for each pair of types.

import { h, svg } from './dom';
import { tick } from './numbers';

export interface StripPoint {
  index: number;
  cost: number;
  types: readonly number[];
}

const kRow = 14;
const kWidth = 1000;

/** From many bits (the first type) to few. */
function paint(element: SVGElement | HTMLElement, type: number, count: number): void {
  element.style.setProperty('--few', `${count > 1 ? Math.round((100 * type) / (count - 1)) : 0}%`);
}

/** The sample of a colour beside its name. */
export function type_key(type: number, count: number): HTMLElement {
  const key = h('span', { class: 'key type' });
  paint(key, type, count);
  return key;
}

export class TypeStrip {
  readonly element: HTMLElement;
  private readonly rows: SVGGElement[] = [];

  constructor(
    types: readonly string[],
    groups: readonly string[],
    points: readonly StripPoint[],
    on_select: (index: number) => void,
  ) {
    const idle = 'Point at a square to read the group.';
    const reading = h('p', { class: 'reading', role: 'status' }, idle);
    const height = points.length * kRow;
    const picture = svg('svg', {
      viewBox: `0 0 ${kWidth} ${height}`,
      preserveAspectRatio: 'none',
      class: 'strip',
      role: 'img',
      'aria-label': `Types of ${groups.length} groups in ${points.length} points; the table below lists those of one point`,
    });
    picture.style.height = `${height}px`;
    const column = kWidth / groups.length;
    points.forEach((point, index) => {
      const row = svg('g', {});
      const y = (points.length - 1 - index) * kRow;
      // Neighbours of one type are one rectangle: a thousand groups stay cheap.
      for (let begin = 0, end = 0; begin < point.types.length; begin = end) {
        while (end < point.types.length && point.types[end] === point.types[begin]) ++end;
        const part = svg('rect', {
          x: begin * column,
          y: y + 0.5,
          width: (end - begin) * column,
          height: kRow - 1,
          class: 'type',
        });
        paint(part, point.types[begin], types.length);
        row.append(part);
      }
      this.rows.push(row);
      picture.append(row);
    });
    const under = (event: MouseEvent): { point: StripPoint; group: number } | null => {
      const frame = picture.getBoundingClientRect();
      const group = Math.floor(((event.clientX - frame.left) / frame.width) * groups.length);
      const row = Math.floor(((event.clientY - frame.top) / frame.height) * points.length);
      const point = points[points.length - 1 - row];
      return point && group >= 0 && group < point.types.length ? { point, group } : null;
    };
    picture.addEventListener('mousemove', (event) => {
      const found = under(event);
      if (!found) return reading.replaceChildren(idle);
      const { point, group } = found;
      reading.replaceChildren(
        h('b', {}, `${types[point.types[group]]}: `),
        `${groups[group]} (position ${group + 1}) at cost ${tick(point.cost)}`,
      );
    });
    picture.addEventListener('mouseleave', () => reading.replaceChildren(idle));
    picture.addEventListener('click', (event) => {
      const found = under(event);
      if (!found) return;
      this.select(found.point.index);
      on_select(found.point.index);
    });
    const legend = h(
      'div',
      { class: 'legend' },
      ...types.map((name, type) => h('span', {}, type_key(type, types.length), name)),
    );
    this.element = h(
      'div',
      {},
      h('figure', { class: 'strip-frame' }, picture as unknown as HTMLElement),
      legend,
      reading,
    );
  }

  /** Marks the row of a point. */
  select(index: number): void {
    this.rows.forEach((row, other) => row.setAttribute('class', other === index ? 'selected' : ''));
  }
}
