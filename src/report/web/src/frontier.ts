// Quality against cost: the measured curve, the types of every group in each of its points, and one of them in full.

import { h, marked } from './dom';
import { Guide } from './guide';
import { fixed4, tick, type JsonNumber } from './numbers';
import {
  csv_tools,
  head,
  image_action,
  legend,
  live_status,
  page_frame,
  pairs,
  section,
  tools,
  when,
  zoom_action,
  type PageData,
} from './page';
import { PatternToggles } from './patterns';
import { Plot } from './plot';
import { is_hit } from './ranking';
import { Table } from './table';
import { TypeStrip, type_key } from './type_strip';

export interface FrontierData extends PageData {
  cost_label: string;
  quality_label: string;
  types: string[]; // most bits first
  groups: string[]; // in the order of the network
  points: { cost: JsonNumber; quality: JsonNumber; predicted: JsonNumber | null; types: number[] }[]; // cheapest first
  chosen: number;
  wanted: JsonNumber | null;
}

interface Point {
  index: number;
  cost: number;
  quality: number;
  predicted: number; // NaN: none
  types: readonly number[];
}

const kPortion = 200;

export function frontier_page(data: FrontierData): void {
  const points: Point[] = data.points.map((point, index) => ({
    index,
    cost: Number(point.cost),
    quality: Number(point.quality),
    predicted: point.predicted === null ? NaN : Number(point.predicted),
    types: point.types,
  }));
  const counts = ({ types }: Point): string =>
    data.types
      .map((name, type) => ({ name, count: types.filter((other) => other === type).length }))
      .filter(({ count }) => count > 0)
      .map(({ name, count }) => `${name} x ${count}`)
      .join(', ');
  const predictions = points.some(({ predicted }) => Number.isFinite(predicted));
  const with_types = data.groups.length > 0 && points.some(({ types }) => types.length > 0);

  const plot = curve(data, points, counts, predictions);
  const table = new Table<Point>({
    caption: 'Points of the curve',
    portion: kPortion,
    empty: '',
    on_hover: (row) => plot.focus(row ? row.index : -1),
    columns: [
      { title: 'Cost', kind: 'number', key: ({ cost }) => cost, cell: ({ cost }) => tick(cost) },
      { title: data.quality_label, kind: 'number', key: ({ quality }) => quality, cell: (p) => fixed4(p.quality) },
      ...(predictions
        ? [
            {
              title: 'Predicted',
              kind: 'number' as const,
              key: ({ predicted }: Point) => predicted,
              cell: ({ predicted }: Point) => fixed4(predicted),
              wide: true,
            },
          ]
        : []),
      ...(with_types
        ? [{ title: 'Groups', kind: 'text' as const, key: (p: Point) => counts(p), cell: (p: Point) => counts(p) }]
        : []),
      {
        title: '',
        kind: 'text',
        key: ({ index }) => Number(index !== data.chosen),
        cell: ({ index }) => (index === data.chosen ? h('b', { class: 'chosen' }, 'chosen') : ''),
      },
    ],
  });
  const sections = [
    section(
      'Plot',
      h(
        'div',
        { class: 'controls reverse' },
        legend(
          ['point', 'measured'],
          ...when(predictions, ['muted', 'predicted']),
          ...when(data.chosen >= 0, ['hit', 'chosen']),
        ),
        tools(zoom_action(plot), image_action(plot, data.title)),
      ),
      plot.element,
    ),
    section(
      'Points',
      head(
        'Points',
        h('p', { class: 'status' }, `Cost: ${data.cost_label}`),
        csv_tools(data.title, () => [
          ['cost', data.quality_label, 'predicted', 'groups', 'chosen'],
          ...table.view().map((p) => [p.cost, p.quality, p.predicted, counts(p), p.index === data.chosen ? 'yes' : '']),
        ]),
      ),
      table.element,
    ),
  ];
  if (with_types) {
    const [strip, groups] = configuration_sections(data, points);
    sections.splice(1, 0, strip);
    sections.push(groups);
  }
  page_frame(data, ...sections);
  plot.start();
  table.set_rows(points);
}

function curve(
  data: FrontierData,
  points: readonly Point[],
  counts: (point: Point) => string,
  predictions: boolean,
): Plot {
  const finite = points.map(({ cost, quality }) => (Number.isFinite(cost) ? quality : NaN));
  const plot = new Plot({
    label: `${data.quality_label} against cost in ${points.length} points; left and right arrow keys read one after another`,
    x_label: data.cost_label,
    y_label: data.quality_label,
    xs: points.map(({ cost }) => cost),
    series: [
      { name: 'measured', values: finite, color: 'point', markers: 'all' },
      ...(predictions
        ? [
            {
              name: 'predicted',
              values: points.map(({ predicted }) => predicted),
              color: 'muted' as const,
              markers: [],
            },
          ]
        : []),
    ],
    card: (index) => {
      const point = points[index];
      return pairs(
        ['Cost', tick(point.cost)],
        ['Measured', fixed4(point.quality)],
        ...when(Number.isFinite(point.predicted), ['Predicted', fixed4(point.predicted)]),
        ...when(point.types.length > 0, ['Groups', counts(point)]),
      );
    },
    spoken: (index) => `cost ${tick(points[index].cost)}, ${data.quality_label} ${fixed4(points[index].quality)}`,
  });
  if (data.chosen >= 0) plot.set_hits([data.chosen]);
  if (data.wanted !== null) {
    const guide = new Guide({
      label: 'Quality that was asked for',
      color: 'text',
      dashed: true,
      span: 1,
      shade: 'none',
      park: null,
      grip: false,
      on_change: () => undefined,
    });
    plot.add_guide(guide);
    guide.set(Number(data.wanted));
  }
  return plot;
}

/** The picture of all points, and the groups of the one that is selected there. */
function configuration_sections(data: FrontierData, points: readonly Point[]): HTMLElement[] {
  const groups = data.groups.map((name, index) => ({ index, name }));
  let at = data.chosen >= 0 ? data.chosen : points.length - 1;
  let patterns: readonly string[] = [];
  const type_of = (group: number): string => data.types[points[at].types[group]] ?? '';
  const table = new Table<(typeof groups)[number]>({
    caption: 'Groups of the selected point',
    portion: kPortion,
    empty: 'No name matches.',
    columns: [
      { title: 'Position', kind: 'number', key: ({ index }) => index, cell: ({ index }) => String(index + 1) },
      { title: 'Group', kind: 'name', key: ({ name }) => name, cell: ({ name }) => marked(name, patterns) },
      {
        title: 'Types',
        kind: 'text',
        key: ({ index }) => type_of(index),
        cell: ({ index }) => h('span', { class: 'types' }, type_key(points[at].types[index], data.types.length), type_of(index)),
      },
    ],
  });
  const status = live_status();
  const update = (): void => {
    const rows = groups.filter(({ name }) => patterns.length === 0 || is_hit(name, patterns));
    const point = points[at];
    status.textContent =
      `Cost ${tick(point.cost)}, ${data.quality_label} ${fixed4(point.quality)}; ` +
      `${rows.length} of ${groups.length} groups`;
    table.set_rows(rows);
  };
  const strip = new TypeStrip(data.types, data.groups, points, (index) => {
    at = index;
    update();
  });
  const toggles = new PatternToggles(data.groups, [], (active) => {
    patterns = active;
    update();
  });
  strip.select(at);
  update();
  return [
    section(
      'Types along the network',
      head(
        'Types along the network',
        h(
          'p',
          { class: 'status' },
          'One row for each point, the dearest on top; groups from the input (left) to the output. ' +
            'A click selects the point whose groups are listed below.',
        ),
      ),
      strip.element,
    ),
    section(
      'Groups',
      head(
        'Groups of the selected point',
        status,
        csv_tools(`${data.title} groups`, () => [
          ['position', 'group', 'types'],
          ...table.view().map(({ index, name }) => [index + 1, name, type_of(index)]),
        ]),
      ),
      h('div', { class: 'controls' }, toggles.element),
      table.element,
    ),
  ];
}
