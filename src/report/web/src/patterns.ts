// Toggle buttons, one per name pattern; the reader can add more.

import { h } from './dom';

export class PatternToggles {
  readonly element: HTMLElement;
  private readonly buttons = h('div', {
    class: 'toggles',
    role: 'group',
    'aria-label': 'Highlight names that contain',
  });
  private readonly active: string[] = [];
  private readonly known = new Set<string>();

  constructor(
    private readonly names: readonly string[],
    patterns: readonly string[],
    private readonly on_change: (active: readonly string[]) => void,
  ) {
    for (const pattern of patterns) this.add(pattern);
    const input = h('input', {
      type: 'text',
      class: 'add',
      id: 'add-pattern',
      placeholder: patterns.length > 0 ? 'Other…' : 'Part of a name',
      'aria-label': 'Highlight another part of a name',
      autocomplete: 'off',
      spellcheck: 'false',
    });
    const form = h('form', { class: 'add-form' }, input);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = input.value;
      if (text === '') return;
      input.value = '';
      if (!this.known.has(text)) this.add(text);
      if (!this.active.includes(text)) this.toggle(text);
    });
    this.element = h('div', { class: 'highlight' }, h('span', { class: 'label' }, 'Highlight'), this.buttons, form);
  }

  private add(pattern: string): void {
    if (pattern === '' || this.known.has(pattern)) return;
    this.known.add(pattern);
    const count = this.names.filter((name) => name.includes(pattern)).length;
    const button = h(
      'button',
      {
        type: 'button',
        class: count === 0 ? 'toggle none' : 'toggle',
        'aria-pressed': 'false',
        onclick: () => this.toggle(pattern),
      },
      pattern,
      h('span', { class: 'count', 'aria-label': `${count} matches` }, String(count)),
    );
    button.dataset.pattern = pattern;
    this.buttons.append(button);
  }

  private toggle(pattern: string): void {
    const at = this.active.indexOf(pattern);
    if (at >= 0) this.active.splice(at, 1);
    else this.active.push(pattern);
    for (const button of this.buttons.children) {
      const on = this.active.includes((button as HTMLElement).dataset.pattern ?? '');
      button.setAttribute('aria-pressed', String(on));
    }
    this.on_change(this.active);
  }
}
