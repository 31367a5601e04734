// A page of histograms with the ends of their encodings; one is shown at a time.

import { LineChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

import { h, place } from './dom';
import { short, tick, type JsonNumber } from './numbers';
import { legend, live_status, page_frame, pairs, section, strong, type PageData } from './page';
import { on_theme_change, palette } from './theme';

echarts.use([LineChart, GridComponent, CanvasRenderer]);

export interface HistogramsData extends PageData {
  histograms: {
    name: string;
    begin: number;
    width: number; // of one bucket
    probabilities: number[];
    encoding_min: JsonNumber;
    encoding_max: JsonNumber;
  }[];
}

const kFloor = 1e-9;
const kMargin = { left: 68, right: 32, top: 34, bottom: 52 };

export function histograms_page(data: HistogramsData): void {
  const items = data.histograms;
  let at = 0;
  const canvas = h('div', { class: 'canvas' });
  const hair = h('div', { class: 'hair', hidden: true });
  const card = h('div', { class: 'card-hover', role: 'tooltip', hidden: true });
  const overlay = h('div', { class: 'overlay' }, hair);
  const plot = h('div', { class: 'plot', role: 'img' }, canvas, overlay, card);
  const chart = echarts.init(canvas, null, { renderer: 'canvas', width: 600, height: 400 });
  const log = h('input', { type: 'checkbox', id: 'log' });
  const facts = live_status();

  const draw = (): void => {
    const item = items[at];
    const colors = palette();
    const text = { color: colors.muted, fontFamily: colors.font, fontSize: 12 };
    const grid_line = { lineStyle: { color: colors.grid } };
    const filled = item.probabilities.filter((value) => value > 0);
    const top = filled.reduce((a, b) => Math.max(a, b), 0) || 1;
    // Buckets below the floor hold less than any number of samples could show. A power of ten makes a round last label.
    const least = Math.max(filled.reduce((a, b) => Math.min(a, b), top) / 2, top * kFloor);
    const bottom = log.checked ? 10 ** Math.floor(Math.log10(least)) : 0;
    const ends = [Number(item.encoding_min), Number(item.encoding_max)];
    // A logarithm has no place for empty buckets; they stand on the floor.
    const steps = item.probabilities.map((value, i) => [item.begin + i * item.width, Math.max(value, bottom)]);
    steps.push([item.begin + item.probabilities.length * item.width, bottom]);
    const line = (x: number, color: string): object => ({
      type: 'line',
      data: Number.isFinite(x)
        ? [
            [x, bottom],
            [x, top],
          ]
        : [],
      showSymbol: false,
      silent: true,
      z: 4,
      lineStyle: { color, width: 1.5, type: 'dashed' },
    });
    const axis = {
      axisLabel: { ...text, formatter: tick, hideOverlap: true },
      axisTick: { show: false },
      nameTextStyle: text,
    };
    chart.setOption(
      {
        animation: false,
        grid: { ...kMargin, outerBoundsMode: 'none' },
        xAxis: {
          ...axis,
          type: 'value',
          scale: true,
          axisLine: grid_line,
          splitLine: { show: false },
          name: 'Value',
          nameLocation: 'middle',
          nameGap: 28,
        },
        yAxis: {
          ...axis,
          type: log.checked ? 'log' : 'value',
          min: bottom,
          axisLine: { show: false, onZero: false },
          splitLine: grid_line,
          name: 'Share of the values in a bucket',
          nameTextStyle: {
            ...text,
            color: colors.text,
            fontWeight: 600,
            align: 'left',
            padding: [0, 0, 0, 8 - kMargin.left],
          },
        },
        series: [
          {
            type: 'line',
            step: 'end',
            data: steps,
            showSymbol: false,
            silent: true,
            z: 2,
            lineStyle: { width: 1, color: colors.point },
            areaStyle: { color: colors.point, opacity: 0.3, origin: 'start' },
          },
          line(ends[0], colors.low),
          line(ends[1], colors.hit),
        ],
      },
      { notMerge: true },
    );
    const outside = item.probabilities.reduce((sum, value, i) => {
      const middle = item.begin + (i + 0.5) * item.width;
      return sum + (middle < ends[0] || middle > ends[1] ? value : 0);
    }, 0);
    facts.textContent = `Encoding from ${short(ends[0])} to ${short(ends[1])}; ${(100 * outside).toPrecision(3)} % of the values in buckets outside`;
    plot.setAttribute('aria-label', `Histogram of ${item.name}. ${facts.textContent}`);
    hover(null);
  };

  const hover = (event: PointerEvent | null): void => {
    const item = items[at];
    const frame = plot.getBoundingClientRect();
    const x = event ? event.clientX - frame.left : -1;
    const value = chart.convertFromPixel({ gridIndex: 0 }, [x, 0])[0];
    const bucket = Math.floor((value - item.begin) / item.width);
    const shown = event !== null && bucket >= 0 && bucket < item.probabilities.length;
    hair.hidden = card.hidden = !shown;
    if (!shown) return;
    const begin = item.begin + bucket * item.width;
    card.replaceChildren(
      pairs(
        ['Values', `${short(begin)} to ${short(begin + item.width)}`],
        ['Share', strong(item.probabilities[bucket].toPrecision(4))],
      ),
    );
    place(hair, x, kMargin.top, undefined, frame.height - kMargin.top - kMargin.bottom);
    const left = x + 16 + card.offsetWidth <= frame.width ? x + 16 : x - 16 - card.offsetWidth;
    place(card, Math.max(4, left), kMargin.top + 8);
  };

  const choice = h(
    'select',
    { id: 'choice', 'aria-label': 'Histogram' },
    ...items.map(({ name }, i) => h('option', { value: i }, name)),
  );
  const step = (by: number): HTMLButtonElement =>
    h(
      'button',
      { type: 'button', class: 'quiet', onclick: () => show((at + by + items.length) % items.length) },
      by < 0 ? 'Previous' : 'Next',
    );
  const show = (index: number): void => {
    at = index;
    choice.value = String(index);
    draw();
  };
  choice.addEventListener('change', () => show(Number(choice.value)));
  log.addEventListener('change', draw);
  plot.addEventListener('pointermove', hover);
  plot.addEventListener('pointerdown', hover);
  plot.addEventListener('pointerleave', () => hover(null));
  on_theme_change(draw);

  const chooser = h('div', { class: 'threshold' }, choice, step(-1), step(1));
  chooser.hidden = items.length < 2;
  page_frame(
    data,
    section(
      'Plot',
      h('div', { class: 'controls' }, chooser, facts, h('label', { class: 'tools' }, log, 'Logarithmic')),
      legend(['low', 'smallest value of the encoding'], ['hit', 'largest value of the encoding']),
      plot,
    ),
  );
  new ResizeObserver(() => {
    if (plot.clientWidth === 0) return;
    chart.resize({ width: plot.clientWidth, height: plot.clientHeight });
    draw();
  }).observe(plot);
  draw();
}
