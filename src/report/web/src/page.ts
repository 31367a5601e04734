// What every page has: title, facts, theme button, notes, the bar of a section.

import { copy, download, file_stem, to_csv } from './csv';
import { h, type Child } from './dom';
import type { Plot } from './plot';
import { theme_button } from './theme';

export interface PageData {
  page: string;
  title: string;
  facts: [string, string][];
}

export function page_frame(data: PageData, ...sections: HTMLElement[]): void {
  const facts = h(
    'dl',
    { class: 'facts', 'aria-label': 'Facts' },
    ...data.facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
  facts.hidden = data.facts.length === 0;
  const header = h(
    'header',
    {},
    h('div', { class: 'headline' }, h('p', { class: 'brand' }, 'bitsweep'), h('h1', {}, data.title)),
    theme_button(),
    facts,
  );
  document.body.replaceChildren(header, h('main', {}, ...sections));
}

/** A note above the plot whose list opens on demand. */
export function note(text: string, names: string[]): HTMLElement {
  return h(
    'details',
    { class: 'note' },
    h('summary', {}, text),
    h('ul', {}, ...names.map((name) => h('li', {}, name))),
  );
}

export function action(label: string, title: string, run: () => void, ...children: Child[]): HTMLButtonElement {
  return h('button', { type: 'button', class: 'quiet', title, onclick: run }, ...children, label);
}

export function zoom_action(plot: Plot): HTMLButtonElement {
  const button = action('Reset zoom', 'Show everything again (double click)', () => plot.reset_zoom());
  button.disabled = true;
  plot.on_zoom((zoomed) => {
    button.disabled = !zoomed;
  });
  return button;
}

export function image_action(plot: Plot, title: string): HTMLButtonElement {
  return action('Save image', 'Save the plot as PNG', () => {
    void plot.png(title).then((blob) => {
      if (blob) download(`${file_stem(title)}.png`, blob);
    });
  });
}

/** Buttons that copy and save the rows in view. */
export function csv_tools(title: string, rows: () => (string | number)[][]): HTMLButtonElement[] {
  const copy_button = action('Copy CSV', 'Copy the rows in view', () => {
    void copy(to_csv(rows())).then((done) => {
      copy_button.textContent = done ? 'Copied' : 'Not allowed here';
      setTimeout(() => {
        copy_button.textContent = 'Copy CSV';
      }, 1500);
    });
  });
  const save = action('Download CSV', 'Save the rows in view', () =>
    download(`${file_stem(title)}.csv`, new Blob([to_csv(rows())], { type: 'text/csv' })),
  );
  return [copy_button, save];
}
