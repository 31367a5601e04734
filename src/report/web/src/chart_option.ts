// What ECharts is asked to draw: axes, zoom, lines and markers, from the state of a plot.

import type { EChartsCoreOption } from 'echarts/core';

import { tick } from './numbers';
import type { Palette } from './theme';

export interface Series {
  name: string;
  values: readonly number[]; // not finite: no point
  color: 'point' | 'second' | 'muted';
  markers: 'all' | readonly number[]; // indices that get a marker
}

export interface Segment {
  index: number;
  low: number;
  high: number;
}

export interface ChartState {
  x_label: string;
  y_label: string;
  xs: readonly number[]; // of the points, ascending
  positions: boolean; // xs are 1, 2, ...: places in a list
  series: readonly Series[];
  hits: readonly number[]; // large, red and with a halo
  segments: readonly Segment[]; // picked by the reader: broad
  whiskers: readonly Segment[]; // uncertainty: thin
  shown: number; // points in the zoomed part
  cropped: boolean; // the y axis is zoomed
  width: number;
}

const kMargin = { left: 68, right: 76, top: 34, bottom: 74 };
const kMarginNarrow = { left: 50, right: 58, top: 34, bottom: 74 };
const kNarrow = 560;
// Above this many points single markers cannot be told apart; one path for all of them draws in milliseconds.
const kManyPoints = 2000;
const kSomePoints = 300;
const kMarkerSize = { many: 3, some: 5, few: 6.5 };

export function margin_of(width: number): typeof kMargin {
  return width < kNarrow ? kMarginNarrow : kMargin;
}

export function marker_style(shown: number): keyof typeof kMarkerSize {
  return shown > kManyPoints ? 'many' : shown > kSomePoints ? 'some' : 'few';
}

export function chart_option(state: ChartState, colors: Palette): EChartsCoreOption {
  const { xs, positions, cropped } = state;
  const [first, last] = [xs[0], xs[xs.length - 1]];
  const room = last > first ? (last - first) * 0.012 : positions ? 1 : Math.abs(first) / 2 || 1;
  const margin = margin_of(state.width);
  const text = { color: colors.muted, fontFamily: colors.font, fontSize: 12 };
  const line = { lineStyle: { color: colors.grid } };
  const axis = {
    axisLabel: { ...text, hideOverlap: true },
    axisLine: line,
    axisTick: { show: false },
    nameTextStyle: text,
  };
  return {
    animation: false,
    grid: { ...margin, outerBoundsMode: 'none' },
    xAxis: {
      ...axis,
      type: 'value',
      min: first - room,
      max: last + room,
      minInterval: positions ? 1 : 0,
      splitLine: { show: false },
      axisLabel: {
        ...axis.axisLabel,
        showMinLabel: false,
        showMaxLabel: false,
        formatter: positions
          ? (value: number) => (Number.isInteger(value) && value >= first && value <= last ? String(value) : '')
          : tick,
      },
      name: state.x_label,
      nameLocation: 'middle',
      nameGap: 26,
    },
    yAxis: {
      ...axis,
      type: 'value',
      scale: true,
      axisLine: { show: false },
      splitLine: line,
      // A zoomed box ends anywhere; its ends would be labelled with long numbers.
      axisLabel: { ...axis.axisLabel, formatter: tick, showMinLabel: !cropped, showMaxLabel: !cropped },
      name: state.y_label,
      nameLocation: 'end',
      nameGap: 14,
      nameTextStyle: {
        ...text,
        color: colors.text,
        fontWeight: 600,
        align: 'left',
        padding: [0, 0, 0, 8 - margin.left],
      },
    },
    dataZoom: [
      {
        id: 'x',
        type: 'inside',
        xAxisIndex: 0,
        filterMode: 'none',
        zoomOnMouseWheel: 'ctrl',
        moveOnMouseMove: 'shift',
        moveOnMouseWheel: false,
        preventDefaultMouseMove: false,
        minSpan: Math.min(100, 500 / xs.length),
      },
      { id: 'y', type: 'inside', yAxisIndex: 0, filterMode: 'none', disabled: true },
      slider(colors),
    ],
    series: series_option(state, colors),
  };
}

function slider(colors: Palette): object {
  return {
    id: 'bar',
    type: 'slider',
    xAxisIndex: 0,
    filterMode: 'none',
    height: 12,
    bottom: 8,
    brushSelect: false,
    showDetail: false,
    showDataShadow: false,
    borderColor: colors.grid,
    fillerColor: colors.select,
    handleStyle: { color: colors.surface, borderColor: colors.muted },
    handleSize: '140%',
    moveHandleSize: 0,
    emphasis: { handleStyle: { borderColor: colors.point } },
  };
}

function series_option(state: ChartState, colors: Palette): object[] {
  const style = marker_style(state.shown);
  const many = style === 'many';
  const hit = new Set(state.hits);
  const x_of = (index: number): number => state.xs[index];
  const result: object[] = [];
  for (const { name, values, color, markers } of state.series) {
    const data = values.map((value, index) => [x_of(index), Number.isFinite(value) ? value : null]);
    result.push({
      id: `line ${name}`,
      type: 'line',
      data,
      showSymbol: false,
      silent: true,
      z: 2,
      lineStyle: { width: 1.5, color: colors[color], opacity: many ? 0.3 : 0.55 },
    });
    const drawn = markers === 'all' ? values.map((_, index) => index) : markers;
    const seen = drawn.filter((index) => data[index][1] !== null);
    const rest = seen.filter((index) => !hit.has(index)).map((index) => data[index]);
    const top = seen.filter((index) => hit.has(index)).map((index) => data[index]);
    const crowded = many && top.length > kSomePoints;
    result.push({
      id: `points ${name}`,
      type: 'scatter',
      data: rest,
      silent: true,
      z: 3,
      progressive: 0,
      large: many,
      largeThreshold: kManyPoints,
      symbolSize: kMarkerSize[style],
      itemStyle: { color: colors[color], opacity: 1 },
    });
    result.push({
      id: `hits ${name}`,
      type: 'scatter',
      data: top,
      silent: true,
      z: 5,
      progressive: 0,
      large: many && top.length > kManyPoints,
      largeThreshold: kManyPoints,
      symbolSize: crowded ? 5 : 11,
      itemStyle: {
        color: colors.hit,
        opacity: 1,
        borderColor: colors.surface,
        borderWidth: crowded ? 0.5 : 2,
      },
    });
  }
  result.push({
    ...segment_option(state.whiskers, x_of, 1),
    lineStyle: { width: 1.5, color: colors.point, opacity: 0.45 },
  });
  result.push({ ...segment_option(state.segments, x_of, 4), lineStyle: { width: 3, color: colors.pick } });
  return result;
}

function segment_option(segments: readonly Segment[], x_of: (index: number) => number, z: number): object {
  const data = segments.flatMap(({ index, low, high }) => [
    [x_of(index), low],
    [x_of(index), high],
    [x_of(index), null],
  ]);
  return { id: `segments ${z}`, type: 'line', data, showSymbol: false, silent: true, z };
}
