// Light and dark: the system's choice until the reader presses the button.

import { h, icon } from './dom';

const kStorageKey = 'bitsweep-theme';
const kHalfDisc = 'M8 1.5a6.5 6.5 0 1 0 0 13zM8 1.5a6.5 6.5 0 0 1 0 13';

export interface Palette {
  text: string;
  muted: string;
  grid: string;
  surface: string;
  point: string;
  hit: string;
  low: string;
  second: string;
  pick: string;
  select: string;
  font: string;
}

const listeners: (() => void)[] = [];

export function on_theme_change(listener: () => void): void {
  listeners.push(listener);
}

/** Colours of the canvas, read from the style sheet so that they stand in one place. */
export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  return {
    text: value('--text'),
    muted: value('--muted'),
    grid: value('--grid'),
    surface: value('--surface'),
    point: value('--point'),
    hit: value('--hit'),
    low: value('--low'),
    second: value('--second'),
    pick: value('--pick'),
    select: value('--select'),
    font: getComputedStyle(document.body).fontFamily,
  };
}

// A page opened from a file may have no storage; the choice then lasts as long as the page.
function stored(): string | null {
  try {
    return localStorage.getItem(kStorageKey);
  } catch {
    return null;
  }
}

function store(value: string): void {
  try {
    localStorage.setItem(kStorageKey, value);
  } catch {
    return;
  }
}

export function theme_button(): HTMLButtonElement {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = stored();
  const label = h('span');
  const button = h('button', { type: 'button', class: 'quiet theme', id: 'theme' }, icon(kHalfDisc), label);
  const apply = (): void => {
    const dark = chosen === null ? system.matches : chosen === 'dark';
    root.dataset.theme = dark ? 'dark' : 'light';
    label.textContent = dark ? 'Light' : 'Dark';
    button.setAttribute('aria-label', dark ? 'Use the light theme' : 'Use the dark theme');
    for (const listener of listeners) listener();
  };
  button.addEventListener('click', () => {
    chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
    store(chosen);
    apply();
  });
  system.addEventListener('change', apply);
  apply();
  return button;
}
