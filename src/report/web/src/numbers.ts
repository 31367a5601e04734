// Numbers as they travel in the page's data and as people read them.

/** JSON has no NaN and no infinity: they travel as strings. */
export type JsonNumber = number | 'NaN' | 'Infinity' | '-Infinity';

/** Four decimals, as in every table of scores; tiny values keep their digits. */
export function fixed4(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '-∞';
  if (value !== 0 && Math.abs(value) < 5e-4) return value.toExponential(3);
  return value.toFixed(4);
}

/** Exponent for very small and very large values, else three decimals. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return String(value);
  if (size !== 0 && (size < 1e-3 || size > 1e5)) return value.toExponential(2).replace('e+', 'e');
  return value.toFixed(3);
}

/** Three digits after the point and an exponent. */
export function scientific(value: number): string {
  return Number.isFinite(value) ? value.toExponential(3) : fixed4(value);
}

/** Label of an axis tick: no trailing zeros. */
export function tick(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(1).replace('e+', 'e');
  return String(Number(value.toPrecision(6)));
}

/** A step of 1, 2 or 5 times a power of ten, about a hundredth of the span. */
export function nice_step(span: number): number {
  if (!(span > 0) || !Number.isFinite(span)) return 1;
  const power = 10 ** Math.floor(Math.log10(span / 100));
  const leading = span / 100 / power;
  return Number(((leading < 2 ? 1 : leading < 5 ? 2 : 5) * power).toPrecision(1));
}

/** The value on the grid of `step`, without binary noise in its digits. */
export function snap(value: number, step: number): number {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return digits > 20 ? value : Number((Math.round(value / step) * step).toFixed(digits));
}
