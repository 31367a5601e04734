// The page of a sensitivity sweep: one point per quantizer, a threshold, highlights, and the ranking as a table.

import { h, marked } from './dom';
import { Guide } from './guide';
import { interactions_section } from './interactions';
import { NumberField } from './number_field';
import { fixed4, nice_step } from './numbers';
import {
  csv_buttons,
  entry_card,
  head,
  image_action,
  live_status,
  note,
  page_frame,
  section,
  strong,
  tools,
  when,
  zoom_action,
  zoom_hint,
} from './page';
import { PatternToggles } from './patterns';
import { Plot } from './plot';
import { entries_of, is_active, is_hit, select, type Entry, type Filter, type SensitivityData } from './ranking';
import { Table, type Column } from './table';

const kTop = 20;
const kPortion = 200;
const kTied = 'the samples leave open whether this or the next rank is more sensitive';

export function sensitivity_page(data: SensitivityData): void {
  const entries = entries_of(data);
  const finite = entries.map(({ score }) => score).filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const side = data.higher_is_worse ? 'above' : 'below';
  const filter: { threshold: number | null; patterns: readonly string[] } = { threshold: null, patterns: [] };
  let show_all = false;

  // --- plot ---
  const plot = new Plot({
    label: `${data.metric} of ${entries.length} entries; left and right arrow keys read one point after another`,
    x_label: 'Position in the order of the analysis',
    y_label: data.metric,
    series: [{ name: data.metric, values: entries.map(({ score }) => score), color: 'point' as const, markers: 'all' }],
    whiskers: entries.flatMap(({ index, interval }) =>
      interval !== null && interval.every(Number.isFinite) ? [{ index, low: interval[0], high: interval[1] }] : [],
    ),
    card: (index) => {
      const entry = entries[index];
      return entry_card(
        entry.name,
        filter.patterns,
        ['Rank', strong(rank_text(entry)), ` of ${entries.length}`],
        [data.metric, strong(fixed4(entry.score))],
        ...when(entry.interval !== null, ['95 % interval', interval_text(entry)]),
        ...when(data.details_label !== '' && entry.detail !== '', [data.details_label, entry.detail]),
        ['Position', String(index + 1)],
      );
    },
    spoken: (index) => {
      const { name, rank, score, detail } = entries[index];
      return `Rank ${rank}, ${name}, ${data.metric} ${fixed4(score)}${detail === '' ? '' : `, ${detail}`}`;
    },
  });

  // --- threshold ---
  const field = new NumberField({
    id: 'threshold',
    step: nice_step(high - low),
    optional: true,
    on_change: (value) => {
      guide.set(value);
      set_threshold(value);
    },
  });
  const guide = new Guide({
    label: `Threshold: show entries ${side} it`,
    color: 'hit',
    dashed: true,
    span: high - low,
    shade: side,
    park: data.higher_is_worse ? high : low,
    grip: true,
    on_change: (value) => {
      field.set(value);
      set_threshold(value);
    },
  });
  const set_threshold = (value: number | null): void => {
    filter.threshold = value;
    update_table();
  };

  // --- highlights ---
  const toggles = new PatternToggles(
    entries.map(({ name }) => name),
    data.patterns,
    (active) => {
      filter.patterns = active;
      plot.set_hits(
        active.length === 0 ? [] : entries.filter(({ name }) => is_hit(name, active)).map(({ index }) => index),
      );
      update_table();
    },
  );

  // --- table ---
  // Length of a row's bar: 1 for the most sensitive finite score, 0 for the least.
  const severity = (score: number): number => {
    if (Number.isNaN(score) || high === low) return 0;
    const share = Math.max(0, Math.min(1, (score - low) / (high - low)));
    return data.higher_is_worse ? share : 1 - share;
  };
  const has_intervals = entries.some(({ interval }) => interval !== null);
  const columns: Column<Entry>[] = [
    {
      title: 'Rank',
      kind: 'number',
      key: ({ rank }) => rank,
      cell: (entry) => (entry.tied_with_next ? h('span', { title: kTied }, rank_text(entry)) : rank_text(entry)),
    },
    { title: 'Name', kind: 'name', key: ({ name }) => name, cell: ({ name }) => marked(name, filter.patterns) },
    ...(data.details_label === ''
      ? []
      : [
          {
            title: data.details_label,
            kind: 'text' as const,
            key: ({ detail }: Entry) => detail,
            cell: ({ detail }: Entry) => detail,
            wide: true,
          },
        ]),
    ...(has_intervals
      ? [
          {
            title: '95 % interval',
            kind: 'number' as const,
            key: ({ interval }: Entry) => (interval === null ? NaN : interval[1] - interval[0]),
            cell: interval_text,
            wide: true,
          },
        ]
      : []),
    {
      title: data.metric,
      kind: 'number',
      key: ({ score }) => score,
      cell: ({ score }) => {
        const bar = h('span', { class: 'bar', 'aria-hidden': 'true' });
        bar.style.setProperty('--share', String(severity(score)));
        return h('span', { class: 'score' }, bar, fixed4(score));
      },
    },
  ];
  const table = new Table<Entry>({
    caption: 'Entries in view',
    columns,
    portion: kPortion,
    empty: 'Nothing passes.',
    on_hover: (row) => plot.focus(row ? row.index : -1),
  });
  const heading = h('h2', {});
  const status = live_status();
  const all = h('button', { type: 'button', class: 'quiet', id: 'show-all' });
  all.addEventListener('click', () => {
    show_all = !show_all;
    update_table();
  });
  const csv = csv_buttons(data.title, () => [
    [
      'rank',
      'name',
      ...(data.details_label === '' ? [] : [data.details_label]),
      data.metric,
      ...(has_intervals ? ['low', 'high'] : []),
    ],
    ...table
      .view()
      .map(({ rank, name, detail, score, interval }) => [
        Number.isNaN(rank) ? '' : rank,
        name,
        ...(data.details_label === '' ? [] : [detail]),
        score,
        ...(has_intervals ? (interval ?? ['', '']) : []),
      ]),
  ]);

  const update_table = (): void => {
    const active = is_active(filter);
    const chosen = select(entries, filter, data.higher_is_worse);
    const top = !active && !show_all && entries.length > kTop;
    const rows = top
      ? chosen
          .filter(({ repeats }) => !repeats)
          .sort((a, b) => (Number.isNaN(a.rank) ? 1 : Number.isNaN(b.rank) ? -1 : a.rank - b.rank))
          .slice(0, kTop)
      : chosen;
    heading.textContent = active ? 'Entries that pass' : top ? `The ${kTop} most sensitive` : 'All entries';
    status.textContent = active
      ? `${chosen.length} of ${entries.length} match: ${describe(filter, side)}`
      : `No filter is active; ${entries.length} entries in all`;
    all.hidden = active || entries.length <= kTop;
    all.textContent = show_all ? `Show only ${kTop}` : `Show all ${entries.length}`;
    table.set_rows(rows, active ? `No entry has ${describe(filter, side)}.` : 'There are no entries.');
  };

  // --- page ---
  const direction = data.higher_is_worse
    ? `A higher ${data.metric} is worse: the highest points are the most sensitive.`
    : `A higher ${data.metric} is better: the lowest points are the most sensitive.`;
  const unscored = entries.filter(({ score }) => Number.isNaN(score));
  const infinite = entries.filter(({ score }) => !Number.isNaN(score) && !Number.isFinite(score));
  const notes = [
    unscored.length > 0 &&
      note(
        `${unscored.length} without a number as score (NaN): listed, not ranked, not drawn`,
        unscored.map(({ name }) => name),
      ),
    infinite.length > 0 &&
      note(
        `${infinite.length} with an infinite score: ranked and listed, not drawn`,
        infinite.map(({ name }) => name),
      ),
  ];
  page_frame(
    data,
    section(
      'Plot',
      h(
        'div',
        { class: 'controls' },
        h(
          'div',
          { class: 'threshold' },
          h('label', { for: 'threshold', class: 'label' }, `Show entries ${side}`),
          field.element,
        ),
        h('p', { class: 'direction' }, direction),
        tools(zoom_action(plot), image_action(plot, data.title)),
        toggles.element,
      ),
      ...notes,
      plot.element,
      zoom_hint(),
    ),
    section(
      'Table',
      head(heading, status, tools(all, ...csv)),
      entries.some(({ tied_with_next }) => tied_with_next) && h('p', { class: 'hint' }, `≈ ${kTied}`),
      table.element,
    ),
    ...(data.interactions === null ? [] : [interactions_section(data.interactions, entries)]),
  );
  if (finite.length > 0) plot.add_guide(guide);
  plot.start();
  update_table();
}

function rank_text({ rank, tied_with_next }: Entry): string {
  if (Number.isNaN(rank)) return '-';
  return tied_with_next ? `${rank} ≈` : String(rank);
}

function interval_text({ interval }: Entry): string {
  return interval === null ? '' : `${fixed4(interval[0])} to ${fixed4(interval[1])}`;
}

function describe(filter: Filter, side: string): string {
  const parts: string[] = [];
  if (filter.threshold !== null) parts.push(`a score ${side} ${filter.threshold}`);
  if (filter.patterns.length > 0)
    parts.push(`${filter.patterns.map((pattern) => `“${pattern}”`).join(' or ')} in the name`);
  return parts.join(' and ');
}
