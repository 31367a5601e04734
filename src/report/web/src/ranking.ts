// Which entries of a sensitivity page are in view: the rules behind the plot's colours and the table.

import type { JsonNumber } from './numbers';
import type { PageData } from './page';

/** How errors add up: 1 fully, 0 independent, -1 they cancel. */
export interface InteractionsData {
  entries: number[]; // those of the matrix, by index, most sensitive first
  matrix: (number | null)[][];
  pairs: { first: string; second: string; interaction: JsonNumber; energy: JsonNumber }[];
}

export interface SensitivityData extends PageData {
  metric: string;
  higher_is_worse: boolean;
  details_label: string;
  patterns: string[];
  entries: {
    name: string;
    score: JsonNumber;
    rank: number | null;
    detail?: string;
    interval?: [JsonNumber, JsonNumber];
    tied_with_next?: boolean;
    repeats?: boolean;
  }[];
  interactions: InteractionsData | null;
}

export interface Entry {
  index: number;
  name: string;
  score: number;
  rank: number; // 1: most sensitive; NaN: no number as score
  detail: string;
  interval: [number, number] | null; // 95 %
  tied_with_next: boolean; // its order against the next rank is open
  repeats: boolean; // the score of another entry, too, whose quantizer it has
}

export interface Filter {
  threshold: number | null;
  patterns: readonly string[];
}

export function entries_of(data: SensitivityData): Entry[] {
  return data.entries.map(({ name, score, rank, detail, interval, tied_with_next, repeats }, index) => ({
    index,
    name,
    score: Number(score),
    rank: rank ?? NaN,
    detail: detail ?? '',
    interval: interval ? [Number(interval[0]), Number(interval[1])] : null,
    tied_with_next: tied_with_next ?? false,
    repeats: repeats ?? false,
  }));
}

/** True when the name contains one of the patterns, letter case included. */
export function is_hit(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => name.includes(pattern));
}

/** True on the sensitive side of the threshold; the threshold itself does not pass. */
export function is_beyond(score: number, threshold: number, higher_is_worse: boolean): boolean {
  return higher_is_worse ? score > threshold : score < threshold;
}

export function is_active(filter: Filter): boolean {
  return filter.threshold !== null || filter.patterns.length > 0;
}

export function select(entries: readonly Entry[], filter: Filter, higher_is_worse: boolean): Entry[] {
  return entries.filter(
    ({ name, score }) =>
      (filter.threshold === null || is_beyond(score, filter.threshold, higher_is_worse)) &&
      (filter.patterns.length === 0 || is_hit(name, filter.patterns)),
  );
}
