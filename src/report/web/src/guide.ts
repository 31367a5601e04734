// A horizontal guide line over a plot: dragged with the pointer, moved with the arrow keys, read by screen readers.

import { h, place } from './dom';
import { nice_step, snap, tick } from './numbers';
import type { Palette } from './theme';

const kGripGap = 4; // its margin in the style sheet

export interface GuideFrame {
  to_pixel: (value: number) => number;
  to_value: (y: number) => number;
  area: () => { left: number; right: number; top: number; bottom: number };
}

export interface GuideOptions {
  label: string;
  color: 'hit' | 'text';
  dashed: boolean;
  span: number; // of the values: sets the step of keys and drags
  shade: 'above' | 'below' | 'none'; // side that gets a tint
  park: number | null; // value the grip starts from while the line is not set; null: the line is always set
  grip: boolean; // false: the line is only shown
  on_change: (value: number | null) => void;
}

export class Guide {
  readonly element: HTMLElement;
  value: number | null = null;
  private readonly line = h('div', { class: 'line' });
  private readonly tint = h('div', { class: 'tint' });
  private readonly grip: HTMLElement;
  private readonly step: number;
  private frame: GuideFrame | null = null;

  constructor(private readonly options: GuideOptions) {
    this.step = nice_step(options.span);
    this.grip = h('div', {
      class: 'grip',
      role: 'slider',
      tabindex: 0,
      'aria-label': options.label,
      'aria-orientation': 'vertical',
      title: 'Drag, or use the arrow keys',
    });
    this.element = h(
      'div',
      { class: `guide ${options.color} ${options.dashed ? 'dashed' : 'solid'} ${options.grip ? '' : 'fixed'}` },
      this.tint,
      this.line,
    );
    if (!options.grip) return;
    this.element.append(this.grip);
    for (const handle of [this.line, this.grip]) {
      handle.addEventListener('pointerdown', (event) => this.begin(event as PointerEvent, handle));
    }
    this.grip.addEventListener('keydown', (event) => this.press(event));
  }

  attach(frame: GuideFrame): void {
    this.frame = frame;
  }

  set(value: number | null): void {
    this.value = value;
    this.place();
  }

  place(): void {
    if (!this.frame) return;
    const { left, right, top, bottom } = this.frame.area();
    const set = this.value !== null;
    const wanted = this.frame.to_pixel(this.value ?? this.options.park ?? 0);
    const y = Math.max(top, Math.min(bottom, wanted));
    const outside = wanted < top - 0.5 ? 'over' : wanted > bottom + 0.5 ? 'under' : 'inside';
    this.element.dataset.state = set ? outside : 'parked';
    place(this.line, left, y, right - left);
    const shade = this.options.shade;
    this.tint.hidden = !set || shade === 'none';
    if (shade === 'below') place(this.tint, left, y, right - left, bottom - y);
    else place(this.tint, left, top, right - left, y - top);
    const arrow = outside === 'over' ? '↑ ' : outside === 'under' ? '↓ ' : '';
    this.grip.textContent = this.value === null ? 'drag' : arrow + tick(this.value);
    // On a narrow screen a long number reaches into the plot instead of out of it.
    const width = this.element.offsetParent?.clientWidth ?? 0;
    place(this.grip, Math.min(right, width - this.grip.offsetWidth - kGripGap), y);
    this.grip.setAttribute('aria-valuenow', String(this.value ?? this.options.park ?? 0));
    this.grip.setAttribute('aria-valuetext', this.value === null ? 'not set' : tick(this.value));
  }

  /** The line on an exported picture. */
  paint(context: CanvasRenderingContext2D, colors: Palette): void {
    if (!this.frame || this.value === null) return;
    const { left, right, top, bottom } = this.frame.area();
    const y = this.frame.to_pixel(this.value);
    if (y < top || y > bottom) return;
    context.save();
    context.strokeStyle = colors[this.options.color];
    context.fillStyle = colors[this.options.color];
    context.setLineDash(this.options.dashed ? [6, 4] : []);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.stroke();
    context.font = `600 12px ${colors.font}`;
    context.fillText(tick(this.value), right + 8, y + 4);
    context.restore();
  }

  private begin(event: PointerEvent, handle: HTMLElement): void {
    if (!this.frame || event.button !== 0) return;
    event.preventDefault();
    this.grip.focus();
    const frame = this.frame;
    handle.setPointerCapture(event.pointerId);
    const offset = this.element.parentElement?.getBoundingClientRect().top ?? 0;
    const move = (next: PointerEvent): void => {
      const { top, bottom } = frame.area();
      const y = Math.max(top, Math.min(bottom, next.clientY - offset));
      this.change(snap(frame.to_value(y), this.step));
    };
    const finish = (): void => {
      handle.removeEventListener('pointermove', move);
      handle.removeEventListener('pointerup', finish);
      handle.removeEventListener('pointercancel', finish);
    };
    handle.addEventListener('pointermove', move);
    handle.addEventListener('pointerup', finish);
    handle.addEventListener('pointercancel', finish);
  }

  private press(event: KeyboardEvent): void {
    const factor = event.shiftKey ? 10 : 1;
    const from = this.value ?? this.options.park ?? 0;
    let to: number | null;
    if (event.key === 'ArrowUp') to = snap(from + factor * this.step, this.step);
    else if (event.key === 'ArrowDown') to = snap(from - factor * this.step, this.step);
    else if (this.options.park !== null && (event.key === 'Escape' || event.key === 'Delete')) to = null;
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.change(to);
  }

  private change(value: number | null): void {
    this.set(value);
    this.options.on_change(value);
  }
}
