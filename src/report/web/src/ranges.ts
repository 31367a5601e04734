// The page of quantizer ranges: smallest and largest value that each quantizer covers, and which go beyond thresholds.

import { h, marked } from './dom';
import { Guide } from './guide';
import { NumberField } from './number_field';
import { nice_step, scientific, short, type JsonNumber } from './numbers';
import {
  action,
  csv_tools,
  entry_card,
  head,
  image_action,
  legend,
  live_status,
  page_frame,
  section,
  strong,
  tools,
  zoom_action,
  zoom_hint,
  type PageData,
} from './page';
import { Plot } from './plot';
import { Table } from './table';
import type { Series } from './chart_option';

export interface RangesData extends PageData {
  kind: string; // what one entry is, e.g. "activation"
  display_limits: [number, number];
  thresholds: [number, number];
  entries: { name: string; min: JsonNumber; max: JsonNumber }[];
}

interface Range {
  index: number;
  name: string;
  min: number;
  max: number;
}

/** Which rows the table shows, by the sides on which a range goes beyond its threshold. */
const kViews = {
  All: (): boolean => true,
  Min: (below: boolean): boolean => below,
  Max: (_below: boolean, above: boolean): boolean => above,
  'Min | Max': (below: boolean, above: boolean): boolean => below || above,
  'Min & Max': (below: boolean, above: boolean): boolean => below && above,
};
type View = keyof typeof kViews;

const kPortion = 200;

export function ranges_page(data: RangesData): void {
  const entries: Range[] = data.entries.map(({ name, min, max }, index) => ({
    index,
    name,
    min: Number(min),
    max: Number(max),
  }));
  const limits: [number, number] = [...data.display_limits];
  const thresholds: [number, number] = [...data.thresholds];
  const is_below = ({ min }: Range): boolean => min < thresholds[0];
  const is_above = ({ max }: Range): boolean => max > thresholds[1];
  // With nothing beyond the thresholds the union would be an empty table.
  const first_view = (): View => (entries.some((range) => is_below(range) || is_above(range)) ? 'Min | Max' : 'All');
  let view = first_view();
  let filter = '';
  const picked = new Set<number>();

  // --- plot ---
  const clip = (value: number): number => Math.max(limits[0], Math.min(limits[1], value));
  const series = (): Series[] => [
    {
      name: 'max',
      values: entries.map(({ max }) => clip(max)),
      color: 'second',
      markers: entries.filter(is_above).map(({ index }) => index),
    },
    {
      name: 'min',
      values: entries.map(({ min }) => clip(min)),
      color: 'point',
      markers: entries.filter(is_below).map(({ index }) => index),
    },
  ];
  const plot = new Plot({
    label: `Ranges of ${entries.length} quantizers; left and right arrow keys read one after another`,
    x_label: `Position in the list of ${data.kind}s`,
    y_label: 'Range',
    series: series(),
    card: (index) => {
      const { name, min, max } = entries[index];
      return entry_card(
        name,
        [filter],
        ['Max', strong(short(max))],
        ['Min', strong(short(min))],
        ['Position', String(index + 1)],
      );
    },
    spoken: (index) => {
      const { name, min, max } = entries[index];
      return `${name}, from ${short(min)} to ${short(max)}`;
    },
  });

  // --- limits and thresholds: 0 is the lower one, 1 the upper one ---
  const shown = series().flatMap(({ values }) => values);
  const span = shown.reduce((a, b) => Math.max(a, b), -Infinity) - shown.reduce((a, b) => Math.min(a, b), Infinity);
  const sides = ['Lower', 'Upper'];
  const limit_guides = sides.map(
    (side) =>
      new Guide({
        label: `${side} display limit`,
        color: 'text',
        dashed: false,
        span,
        shade: 'none',
        park: null,
        grip: false,
        on_change: () => undefined,
      }),
  );
  const limit_fields = sides.map(
    (side, at) =>
      new NumberField({
        id: `limit-${at}`,
        label: `${side} display limit`,
        step: nice_step(data.display_limits[1] - data.display_limits[0]),
        optional: false,
        on_change: (value) => set_limit(at, value ?? 0),
      }),
  );
  const threshold_guides = sides.map(
    (side, at) =>
      new Guide({
        label: `${side} threshold`,
        color: 'text',
        dashed: true,
        span,
        shade: 'none',
        park: null,
        grip: true,
        on_change: (value) => set_threshold(at, value ?? 0),
      }),
  );
  const threshold_fields = sides.map(
    (side, at) =>
      new NumberField({
        id: `threshold-${at}`,
        label: `${side} threshold`,
        step: nice_step(data.thresholds[1] - data.thresholds[0]),
        optional: false,
        on_change: (value) => set_threshold(at, value ?? 0),
      }),
  );
  const set_limit = (at: number, value: number): void => {
    limits[at] = value;
    limit_fields[at].set(value);
    limit_guides[at].set(value);
    plot.set_series(series());
    plot.set_segments(segments());
  };
  const set_threshold = (at: number, value: number): void => {
    thresholds[at] = value;
    threshold_fields[at].set(value);
    threshold_guides[at].set(value);
    plot.set_series(series());
    update_table();
  };

  // --- table ---
  const segments = (): { index: number; low: number; high: number }[] =>
    [...picked].map((index) => ({ index, low: clip(entries[index].min), high: clip(entries[index].max) }));
  const table = new Table<Range>({
    caption: 'Ranges in view',
    portion: kPortion,
    empty: 'Nothing passes.',
    on_hover: (row) => plot.focus(row ? row.index : -1),
    columns: [
      {
        title: 'Mark',
        kind: 'check',
        key: ({ index }) => (picked.has(index) ? 0 : 1),
        cell: ({ index, name }) => {
          const box = h('input', { type: 'checkbox', 'aria-label': `Mark ${name} in the plot` });
          box.checked = picked.has(index);
          box.addEventListener('change', () => {
            if (box.checked) picked.add(index);
            else picked.delete(index);
            plot.set_segments(segments());
          });
          return box;
        },
      },
      { title: 'Index', kind: 'number', key: ({ index }) => index, cell: ({ index }) => String(index + 1) },
      { title: 'Name', kind: 'name', key: ({ name }) => name, cell: ({ name }) => marked(name, [filter]) },
      { title: 'Min', kind: 'number', key: ({ min }) => min, cell: ({ min }) => scientific(min) },
      { title: 'Max', kind: 'number', key: ({ max }) => max, cell: ({ max }) => scientific(max) },
    ],
  });
  table.sort_by(1);
  const status = live_status();
  const views = (Object.keys(kViews) as View[]).map((name) => {
    const button = h('button', { type: 'button', class: 'view' }, name);
    button.addEventListener('click', () => {
      view = name;
      update_table();
    });
    return button;
  });
  const search = h('input', {
    type: 'search',
    id: 'filter',
    placeholder: 'Part of a name',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  search.addEventListener('input', () => {
    filter = search.value;
    update_table();
  });
  const update_table = (): void => {
    for (const button of views) button.setAttribute('aria-pressed', String(button.textContent === view));
    const rows = entries.filter(
      (range) => kViews[view](is_below(range), is_above(range)) && range.name.includes(filter),
    );
    status.textContent = `${rows.length} of ${entries.length} ${data.kind}s: ${describe(view, thresholds, filter)}`;
    table.set_rows(rows, `No ${data.kind} is in view; “All” lists every one.`);
  };

  // --- page ---
  const reset = action('Reset', 'Put limits, thresholds, filter and marks back', () => {
    picked.clear();
    [0, 1].forEach((at) => {
      set_limit(at, data.display_limits[at]);
      set_threshold(at, data.thresholds[at]);
    });
    view = first_view();
    search.value = filter = '';
    update_table();
    plot.set_segments([]);
    plot.reset_zoom();
  });
  const fields = (label: string, pair: readonly NumberField[]): HTMLElement =>
    h('div', { class: 'threshold' }, h('span', { class: 'label' }, label), ...pair.map((field) => field.element));
  page_frame(
    data,
    section(
      'Plot',
      h(
        'div',
        { class: 'controls' },
        fields('Thresholds', threshold_fields),
        fields('Display limits', limit_fields),
        tools(reset, zoom_action(plot), image_action(plot, data.title)),
      ),
      legend(['second', 'largest value'], ['point', 'smallest value'], ['pick', 'marked in the table']),
      plot.element,
      zoom_hint(),
    ),
    section(
      'Table',
      head(
        'Ranges',
        status,
        h('div', { class: 'views', role: 'group', 'aria-label': 'Beyond the threshold on' }, ...views),
        h('div', { class: 'threshold' }, h('label', { for: 'filter', class: 'label' }, 'Name'), search),
        csv_tools(data.title, () => [
          ['index', 'name', 'min', 'max'],
          ...table.view().map(({ index, name, min, max }) => [index + 1, name, min, max]),
        ]),
      ),
      table.element,
    ),
  );
  for (const guide of [...limit_guides, ...threshold_guides]) plot.add_guide(guide);
  plot.start();
  [0, 1].forEach((at) => {
    set_limit(at, limits[at]);
    set_threshold(at, thresholds[at]);
  });
}

function describe(view: View, [low, high]: [number, number], filter: string): string {
  const below = `min below ${low}`;
  const above = `max above ${high}`;
  const beyond: Record<View, string> = {
    All: 'any range',
    Min: below,
    Max: above,
    'Min | Max': `${below} or ${above}`,
    'Min & Max': `${below} and ${above}`,
  };
  return beyond[view] + (filter === '' ? '' : `, “${filter}” in the name`);
}
