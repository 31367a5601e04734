// A plot of values over the position in a list, or over a number: lines, markers, zoom, hover and guide lines.
//
// ECharts draws what is heavy (lines, thousands of markers, axes). What a person grips or reads with a screen reader
// (guide lines, the hover card, the zoom box) are elements above the canvas: they move without a redraw.

import { LineChart, ScatterChart } from 'echarts/charts';
import { DataZoomInsideComponent, DataZoomSliderComponent, GridComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

import { chart_option, margin_of, marker_style, type Segment, type Series } from './chart_option';
import { h, place } from './dom';
import { Guide } from './guide';
import { on_theme_change, palette } from './theme';

echarts.use([LineChart, ScatterChart, GridComponent, DataZoomInsideComponent, DataZoomSliderComponent, CanvasRenderer]);

export interface PlotOptions {
  label: string; // for screen readers
  x_label: string;
  y_label: string;
  xs?: readonly number[]; // ascending; default: 1, 2, ...
  series: Series[];
  whiskers?: Segment[];
  card: (index: number) => Node; // what the hover card shows
  spoken: (index: number) => string; // the same for screen readers
}

const kHoverReach = 28;
const kSmallestBox = 6;

export class Plot {
  readonly element: HTMLElement;
  readonly guides: Guide[] = [];
  private readonly canvas = h('div', { class: 'canvas' });
  private readonly overlay = h('div', { class: 'overlay' });
  private readonly ring = h('div', { class: 'ring', hidden: true });
  private readonly hair = h('div', { class: 'hair', hidden: true });
  private readonly box = h('div', { class: 'box', hidden: true });
  private readonly card = h('div', { class: 'card-hover', role: 'tooltip', hidden: true });
  private readonly live = h('p', { class: 'off-screen', 'aria-live': 'polite' });
  private readonly chart: echarts.ECharts;
  private readonly xs: readonly number[];
  private series: readonly Series[];
  private hits: readonly number[] = [];
  private segments: readonly Segment[] = [];
  private current = -1; // entry with the card
  private level = NaN; // its value that the ring stands on
  private shown: number; // points in the zoomed part
  private cropped = false; // the y axis is zoomed
  private readonly zoom_listeners: ((zoomed: boolean) => void)[] = [];

  constructor(private readonly options: PlotOptions) {
    this.series = options.series;
    this.xs = options.xs ?? options.series[0].values.map((_, index) => index + 1);
    this.shown = this.xs.length;
    this.element = h(
      'div',
      { class: 'plot', tabindex: 0, role: 'group', 'aria-label': options.label },
      this.canvas,
      this.overlay,
      this.card,
      this.live,
    );
    this.overlay.append(this.hair, this.ring, this.box);
    this.chart = echarts.init(this.canvas, null, { renderer: 'canvas', width: 600, height: 400 });
    this.listen();
    on_theme_change(() => this.draw());
  }

  /** Call once the element is in the document. */
  start(): void {
    new ResizeObserver(() => this.fit()).observe(this.element);
    this.fit();
  }

  /** Points drawn large, red and with a halo. */
  set_hits(indices: readonly number[]): void {
    this.hits = indices;
    this.draw();
  }

  /** Other values for the same entries. */
  set_series(series: readonly Series[]): void {
    this.series = series;
    this.draw();
  }

  /** Vertical marks from one value to another. */
  set_segments(segments: readonly Segment[]): void {
    this.segments = segments;
    this.draw();
  }

  add_guide(guide: Guide): void {
    this.guides.push(guide);
    this.overlay.append(guide.element);
    guide.attach({
      to_pixel: (value) => this.pixel(0, value)[1],
      to_value: (y) => this.chart.convertFromPixel({ gridIndex: 0 }, [0, y])[1],
      area: () => this.area(),
    });
  }

  on_zoom(listener: (zoomed: boolean) => void): void {
    this.zoom_listeners.push(listener);
  }

  reset_zoom(): void {
    this.chart.dispatchAction({
      type: 'dataZoom',
      batch: [
        { dataZoomId: 'x', start: 0, end: 100 },
        { dataZoomId: 'y', start: 0, end: 100 },
      ],
    });
  }

  /** Shows the card of a point, at its value nearest to `level`; -1 hides it. */
  focus(index: number, level = NaN): void {
    this.current = index;
    this.level = index < 0 ? NaN : this.nearest_value(index, level);
    const shown = Number.isFinite(this.level);
    this.card.hidden = !shown;
    this.ring.hidden = !shown;
    this.hair.hidden = !shown;
    if (!shown) return;
    this.card.replaceChildren(this.options.card(index));
    this.place_focus();
  }

  /** The plot with its guide lines as a PNG file's content. */
  async png(title: string): Promise<Blob | null> {
    const ratio = 2;
    const colors = palette();
    const drawn = this.chart.renderToCanvas({ pixelRatio: ratio, backgroundColor: colors.surface });
    const head = 40;
    const canvas = h('canvas', { width: drawn.width, height: drawn.height + head * ratio });
    const context = canvas.getContext('2d');
    if (!context) return null;
    context.fillStyle = colors.surface;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(drawn, 0, head * ratio);
    context.scale(ratio, ratio);
    context.fillStyle = colors.text;
    context.font = `600 15px ${colors.font}`;
    context.fillText(title, 16, 27);
    context.translate(0, head);
    for (const guide of this.guides) guide.paint(context, colors);
    return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  }

  draw(): void {
    const { x_label, y_label, whiskers = [] } = this.options;
    const { xs, series, hits, segments, shown, cropped } = this;
    const positions = this.options.xs === undefined;
    const width = this.chart.getWidth();
    const state = { x_label, y_label, xs, positions, series, hits, segments, whiskers, shown, cropped, width };
    this.chart.setOption(chart_option(state, palette()), { replaceMerge: ['series'] });
    this.place();
  }

  private fit(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.chart.resize({ width: clientWidth, height: clientHeight });
    this.draw();
  }

  private listen(): void {
    this.chart.on('datazoom', () => this.zoomed());
    this.element.addEventListener('pointermove', (event) => {
      if (event.buttons === 0 || event.pointerType === 'touch') this.hover(...this.local(event));
    });
    this.element.addEventListener('pointerdown', (event) => {
      if (event.pointerType === 'touch') this.hover(...this.local(event));
      else this.begin_box(event);
    });
    this.element.addEventListener('pointerleave', () => this.focus(-1));
    this.element.addEventListener('dblclick', () => this.reset_zoom());
    this.element.addEventListener('keydown', (event) => this.press(event));
    this.element.addEventListener('blur', () => this.focus(-1));
  }

  private zoomed(): void {
    const [x, y] = this.chart.getOption().dataZoom as { start: number; end: number }[];
    const full = (zoom: { start: number; end: number }): boolean => zoom.start <= 0 && zoom.end >= 100;
    const before = marker_style(this.shown) + String(this.cropped);
    this.shown = Math.ceil((this.xs.length * (x.end - x.start)) / 100);
    this.cropped = !full(y);
    if (before !== marker_style(this.shown) + String(this.cropped)) this.draw();
    else this.place();
    for (const listener of this.zoom_listeners) listener(!full(x) || !full(y));
  }

  private press(event: KeyboardEvent): void {
    if (event.target !== this.element) return;
    const step = event.shiftKey ? 10 : 1;
    const last = this.xs.length - 1;
    const from = this.current;
    let to: number;
    let turn = 1;
    if (event.key === 'ArrowRight') to = from + step;
    else if (event.key === 'ArrowLeft') [to, turn] = [from < 0 ? last : from - step, -1];
    else if (event.key === 'Home') to = 0;
    else if (event.key === 'End') [to, turn] = [last, -1];
    else if (event.key === 'Escape') return this.current < 0 ? this.reset_zoom() : this.focus(-1);
    else return;
    event.preventDefault();
    to = Math.max(0, Math.min(last, to));
    // Points without a finite value have no place in the plot: the next one in the same direction is meant.
    while (to >= 0 && to <= last && !Number.isFinite(this.nearest_value(to, NaN))) to += turn;
    if (to < 0 || to > last) return;
    this.focus(to);
    this.live.textContent = this.options.spoken(to);
  }

  /** Drag over empty plot: zoom into the box. */
  private begin_box(event: PointerEvent): void {
    const area = this.area();
    const [x0, y0] = this.local(event);
    const inside = x0 >= area.left && x0 <= area.right && y0 >= area.top && y0 <= area.bottom;
    if (event.button !== 0 || event.shiftKey || !inside || (event.target as Element).closest('.guide')) return;
    const clamp = (v: number, low: number, high: number): number => Math.max(low, Math.min(high, v));
    let x1 = x0;
    let y1 = y0;
    const move = (next: PointerEvent): void => {
      [x1, y1] = this.local(next);
      [x1, y1] = [clamp(x1, area.left, area.right), clamp(y1, area.top, area.bottom)];
      this.focus(-1);
      this.box.hidden = Math.abs(x1 - x0) < kSmallestBox;
      place(this.box, Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
    };
    const finish = (): void => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', finish);
      removeEventListener('pointercancel', finish);
      if (!this.box.hidden) this.zoom_to(x0, y0, x1, y1);
      this.box.hidden = true;
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', finish);
    addEventListener('pointercancel', finish);
  }

  private zoom_to(x0: number, y0: number, x1: number, y1: number): void {
    const a = this.chart.convertFromPixel({ gridIndex: 0 }, [Math.min(x0, x1), Math.max(y0, y1)]);
    const b = this.chart.convertFromPixel({ gridIndex: 0 }, [Math.max(x0, x1), Math.min(y0, y1)]);
    const batch: object[] = [{ dataZoomId: 'x', startValue: a[0], endValue: b[0] }];
    // A flat box means "this part of the list": the y axis stays.
    if (Math.abs(y1 - y0) > 4 * kSmallestBox) batch.push({ dataZoomId: 'y', startValue: a[1], endValue: b[1] });
    this.chart.dispatchAction({ type: 'dataZoom', batch });
  }

  private local(event: MouseEvent): [number, number] {
    const frame = this.element.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  private pixel(x: number, y: number): [number, number] {
    return this.chart.convertToPixel({ gridIndex: 0 }, [x, y]) as unknown as [number, number];
  }

  private area(): { left: number; right: number; top: number; bottom: number } {
    const margin = margin_of(this.chart.getWidth());
    return {
      left: margin.left,
      top: margin.top,
      right: this.chart.getWidth() - margin.right,
      bottom: this.chart.getHeight() - margin.bottom,
    };
  }

  /** The series' value at an index: the one nearest to `y`, or the first finite one. */
  private nearest_value(index: number, y: number): number {
    const values = this.series.map((series) => series.values[index]).filter(Number.isFinite);
    if (Number.isNaN(y)) return values[0] ?? NaN;
    return values.reduce((best, value) => (Math.abs(value - y) < Math.abs(best - y) ? value : best), values[0] ?? NaN);
  }

  /** Index of the first point at `x` or to the right of it. */
  private first_from(x: number): number {
    let [low, high] = [0, this.xs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.xs[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Focuses the point meant by a pointer position: near in x above all, so that sparse plots are easy to read. */
  private hover(x: number, y: number): void {
    const area = this.area();
    if (x < area.left - 8 || x > area.right + 8 || y < area.top - 8 || y > area.bottom + 8) return this.focus(-1);
    const at = (px: number): number[] => this.chart.convertFromPixel({ gridIndex: 0 }, [px, y]);
    const level = at(x)[1];
    // Beside the points in reach, the next one on each side.
    const first = Math.max(0, this.first_from(at(x - kHoverReach)[0]) - 1);
    const last = Math.min(this.xs.length - 1, this.first_from(at(x + kHoverReach)[0]));
    let best = -1;
    let least = Infinity;
    for (let index = first; index <= last; ++index) {
      const value = this.nearest_value(index, level);
      if (!Number.isFinite(value)) continue;
      const [px, py] = this.pixel(this.xs[index], value);
      const distance = Math.hypot(px - x, 0.3 * (py - y));
      if (distance < least) [best, least] = [index, distance];
    }
    this.focus(best, level);
  }

  private place(): void {
    for (const guide of this.guides) guide.place();
    if (this.current >= 0) this.place_focus();
  }

  private place_focus(): void {
    const area = this.area();
    const [x, y] = this.pixel(this.xs[this.current], this.level);
    const shown = x >= area.left - 1 && x <= area.right + 1;
    const inside = shown && y >= area.top - 1 && y <= area.bottom + 1;
    this.ring.hidden = !inside;
    this.hair.hidden = !shown;
    this.card.hidden = !shown;
    place(this.ring, x, y);
    place(this.hair, x, area.top, undefined, area.bottom - area.top);
    const { offsetWidth, offsetHeight } = this.card;
    const room = this.chart.getWidth();
    const left = x + 16 + offsetWidth <= room ? x + 16 : x - 16 - offsetWidth;
    place(
      this.card,
      Math.max(4, Math.min(room - offsetWidth - 4, left)),
      Math.max(4, Math.min(y - offsetHeight / 2, area.bottom - offsetHeight)),
    );
  }
}
