// What pages are made of: title, facts and theme button; sections with a head, legends, notes and buttons.

import { copy, download, file_stem, to_csv } from './csv';
import { h, marked, type Child } from './dom';
import type { Plot } from './plot';
import { theme_button } from './theme';

export interface PageData {
  page: string;
  title: string;
  facts: [string, string][];
  intro?: Intro;
}

/** What to know first, and where to go from there. */
export interface Intro {
  sentences: string[];
  links: [file: string, text: string][];
  next_command: string;
}

function intro_card({ sentences, links, next_command }: Intro): HTMLElement | null {
  if (sentences.length === 0 && links.length === 0 && next_command === '') return null;
  return section(
    'In short',
    h('h2', {}, 'In short'),
    h('ul', { class: 'sentences' }, ...sentences.map((text) => h('li', {}, text))),
    links.length > 0 &&
      h('p', { class: 'links' }, ...links.map(([file, text]) => h('a', { href: file }, text))),
    next_command !== '' && h('p', { class: 'next' }, 'Next: ', h('code', {}, next_command), copy_action(next_command)),
  );
}

function copy_action(text: string): HTMLButtonElement {
  const button = action('Copy', 'Copy the command', () => {
    void copy(text).then((done) => said(button, done ? 'Copied' : 'Not allowed here', 'Copy'));
  });
  return button;
}

/** For a moment the button says what happened. */
function said(button: HTMLButtonElement, text: string, usual: string): void {
  button.textContent = text;
  setTimeout(() => {
    button.textContent = usual;
  }, 1500);
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
  const intro = data.intro ? intro_card(data.intro) : null;
  document.body.replaceChildren(header, h('main', {}, ...(intro ? [intro] : []), ...sections));
}

/** A part of the page, with its name for those who do not see it. */
export function section(name: string, ...children: Child[]): HTMLElement {
  return h('section', { class: 'card', 'aria-label': name }, ...children);
}

/** The head of a section: title, what is shown at the moment, and what can be done. */
export function head(title: Child, status: Child, ...beside: Child[]): HTMLElement {
  return h(
    'div',
    { class: 'bar-head' },
    h('div', {}, typeof title === 'string' ? h('h2', {}, title) : title, status),
    ...beside,
  );
}

/** A line below a title that follows what is shown. */
export function live_status(): HTMLElement {
  return h('p', { class: 'status', role: 'status', id: 'status' });
}

/** Buttons at the end of a line. */
export function tools(...buttons: Child[]): HTMLElement {
  return h('div', { class: 'tools' }, ...buttons);
}

/** The colours of a plot and what they mean. */
export function legend(...keys: [color: string, meaning: string][]): HTMLElement {
  return h(
    'div',
    { class: 'legend' },
    ...keys.map(([color, meaning]) => h('span', {}, h('span', { class: `key ${color}` }), meaning)),
  );
}

export function zoom_hint(): HTMLElement {
  return h(
    'p',
    { class: 'hint' },
    'Drag a box to zoom, double click to go back; Ctrl + wheel zooms, Shift + drag pans.',
  );
}

/** A row that is there only sometimes, to be spread among others. */
export function when<Row extends [string, ...Child[]]>(is_there: boolean, row: Row): Row[] {
  return is_there ? [row] : [];
}

export function strong(text: string): HTMLElement {
  return h('b', {}, text);
}

/** Names and what they stand for, one pair a row. */
export function pairs(...rows: [name: string, ...value: Child[]][]): HTMLElement {
  return h('dl', {}, ...rows.flatMap(([name, ...value]) => [h('dt', {}, name), h('dd', {}, ...value)]));
}

/** What stands beside the pointer: the entry's name, matches marked, and what is known of it. */
export function entry_card(name: string, patterns: readonly string[], ...rows: [string, ...Child[]][]): HTMLElement {
  return h('div', {}, h('p', { class: 'name' }, marked(name, patterns)), pairs(...rows));
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
export function csv_buttons(title: string, rows: () => (string | number)[][]): HTMLButtonElement[] {
  const copy_button = action('Copy CSV', 'Copy the rows in view', () => {
    void copy(to_csv(rows())).then((done) => said(copy_button, done ? 'Copied' : 'Not allowed here', 'Copy CSV'));
  });
  const save = action('Download CSV', 'Save the rows in view', () =>
    download(`${file_stem(title)}.csv`, new Blob([to_csv(rows())], { type: 'text/csv' })),
  );
  return [copy_button, save];
}

export function csv_tools(title: string, rows: () => (string | number)[][]): HTMLElement {
  return tools(...csv_buttons(title, rows));
}
