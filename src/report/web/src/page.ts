// What every page has: title, facts, theme button, notes, the bar of a section.

import { h, type Child } from './dom';
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
