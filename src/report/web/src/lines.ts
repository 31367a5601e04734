// A page of one value per entry, such as the score of each layer: plot and table, no ranking.

import { h, marked } from './dom';
import { fixed4, type JsonNumber } from './numbers';
import {
  csv_tools,
  entry_card,
  head,
  image_action,
  live_status,
  page_frame,
  section,
  strong,
  tools,
  zoom_action,
  type PageData,
} from './page';
import { PatternToggles } from './patterns';
import { Plot } from './plot';
import { is_hit } from './ranking';
import { Table } from './table';

export interface LinesData extends PageData {
  entry_label: string; // what one entry is, e.g. "Layer"
  value_label: string;
  entries: { name: string; value: JsonNumber }[];
}

const kPortion = 200;

export function lines_page(data: LinesData): void {
  const entries = data.entries.map(({ name, value }, index) => ({ index, name, value: Number(value) }));
  let patterns: readonly string[] = [];
  const plot = new Plot({
    label: `${data.value_label} of ${entries.length} entries; left and right arrow keys read one after another`,
    x_label: `${data.entry_label} (position in the order of the analysis)`,
    y_label: data.value_label,
    series: [{ name: data.value_label, values: entries.map(({ value }) => value), color: 'point', markers: 'all' }],
    card: (index) =>
      entry_card(
        entries[index].name,
        patterns,
        [data.value_label, strong(fixed4(entries[index].value))],
        ['Position', String(index + 1)],
      ),
    spoken: (index) => `${entries[index].name}, ${data.value_label} ${fixed4(entries[index].value)}`,
  });
  const table = new Table<(typeof entries)[number]>({
    caption: 'Entries in view',
    portion: kPortion,
    empty: 'No name matches.',
    on_hover: (row) => plot.focus(row ? row.index : -1),
    columns: [
      { title: 'Position', kind: 'number', key: ({ index }) => index, cell: ({ index }) => String(index + 1) },
      { title: data.entry_label, kind: 'name', key: ({ name }) => name, cell: ({ name }) => marked(name, patterns) },
      { title: data.value_label, kind: 'number', key: ({ value }) => value, cell: ({ value }) => fixed4(value) },
    ],
  });
  const status = live_status();
  const update = (): void => {
    const hits = entries.filter(({ name }) => is_hit(name, patterns));
    plot.set_hits(hits.map(({ index }) => index));
    const rows = patterns.length === 0 ? entries : hits;
    status.textContent = `${rows.length} of ${entries.length} entries`;
    table.set_rows(rows);
  };
  const toggles = new PatternToggles(
    entries.map(({ name }) => name),
    [],
    (active) => {
      patterns = active;
      update();
    },
  );
  page_frame(
    data,
    section(
      'Plot',
      h(
        'div',
        { class: 'controls reverse' },
        toggles.element,
        tools(zoom_action(plot), image_action(plot, data.title)),
      ),
      plot.element,
    ),
    section(
      'Table',
      head(
        'Entries',
        status,
        csv_tools(data.title, () => [
          ['position', data.entry_label, data.value_label],
          ...table.view().map(({ index, name, value }) => [index + 1, name, value]),
        ]),
      ),
      table.element,
    ),
  );
  plot.start();
  update();
}
