// A number typed by the reader, with a step that fits the data and, where it may be empty, a button that empties it.

import { h } from './dom';
import { snap } from './numbers';

export interface NumberFieldOptions {
  id: string;
  label?: string; // for screen readers, where no <label> stands beside the field
  step: number; // of the arrow keys
  optional: boolean;
  on_change: (value: number | null) => void;
}

export class NumberField {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly clear: HTMLButtonElement;

  constructor(private readonly options: NumberFieldOptions) {
    // "any": other values than multiples of the step are just as good.
    this.input = h('input', {
      type: 'number',
      id: options.id,
      class: 'number-field',
      step: 'any',
      inputmode: 'decimal',
      autocomplete: 'off',
      placeholder: options.optional ? 'none' : undefined,
      'aria-label': options.label,
    });
    this.clear = h('button', { type: 'button', class: 'clear', 'aria-label': 'Remove the threshold' }, '×');
    this.clear.hidden = true;
    this.input.addEventListener('input', () => this.read());
    this.input.addEventListener('keydown', (event) => this.press(event));
    this.clear.addEventListener('click', () => {
      this.set(null);
      options.on_change(null);
      this.input.focus();
    });
    this.element = h('span', { class: options.optional ? 'field optional' : 'field' }, this.input, this.clear);
  }

  set(value: number | null): void {
    this.input.value = value === null ? '' : String(value);
    this.input.setCustomValidity('');
    this.clear.hidden = value === null || !this.options.optional;
  }

  private read(): void {
    const value = this.input.value === '' ? null : this.input.valueAsNumber;
    // Half a number ("-", "1e") reads as empty; it is not an answer yet, and neither is nothing where a number is due.
    const unfinished = this.input.validity.badInput || (value === null && !this.options.optional);
    this.input.setCustomValidity(unfinished ? 'Type a number' : '');
    if (unfinished) return;
    this.clear.hidden = value === null || !this.options.optional;
    this.options.on_change(value);
  }

  private press(event: KeyboardEvent): void {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    if (this.input.value === '') return;
    const { step } = this.options;
    const direction = event.key === 'ArrowUp' ? 1 : -1;
    this.set(snap(this.input.valueAsNumber + direction * step * (event.shiftKey ? 10 : 1), step));
    this.read();
  }
}
