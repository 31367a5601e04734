// A sortable table that draws its rows in portions, so that 12,000 rows cost nothing until asked for.

import { h, type Child } from './dom';

export interface Column<Row> {
  title: string;
  kind: 'number' | 'name' | 'text' | 'check';
  cell: (row: Row) => Child;
  /** What to sort by; NaN goes last in both directions. */
  key: (row: Row) => number | string;
  /** Left out on narrow screens. */
  wide?: boolean;
}

export interface TableOptions<Row> {
  caption: string;
  columns: Column<Row>[];
  portion: number;
  empty: string;
  on_hover?: (row: Row | null) => void;
}

function class_of<Row>({ kind, wide }: Column<Row>): string {
  return wide ? `${kind} wide` : kind;
}

function compare(a: number | string, b: number | string, sign: number): number {
  if (typeof a === 'number' && typeof b === 'number') {
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return a < b ? -sign : a > b ? sign : 0;
  }
  return sign * String(a).localeCompare(String(b), 'en', { numeric: true });
}

export class Table<Row> {
  readonly element: HTMLElement;
  private readonly body = h('tbody');
  private readonly headers: HTMLTableCellElement[];
  private readonly more = h('button', { type: 'button', class: 'quiet more' });
  private readonly empty: HTMLParagraphElement;
  private rows: Row[] = [];
  private sorted: Row[] = [];
  private drawn = 0;
  private column = 0;
  private sign = 1;

  constructor(private readonly options: TableOptions<Row>) {
    this.headers = options.columns.map((column, index) =>
      h(
        'th',
        { scope: 'col', class: class_of(column) },
        h('button', { type: 'button', onclick: () => this.sort_by(index) }, column.title),
      ),
    );
    this.empty = h('p', { class: 'empty' }, options.empty);
    this.more.addEventListener('click', () => this.draw_more());
    this.element = h(
      'div',
      { class: 'table' },
      h(
        'div',
        { class: 'scroll' },
        h(
          'table',
          {},
          h('caption', { class: 'off-screen' }, options.caption),
          h('thead', {}, h('tr', {}, ...this.headers)),
          this.body,
        ),
      ),
      this.empty,
      this.more,
    );
    this.body.addEventListener('mouseleave', () => options.on_hover?.(null));
  }

  /** Rows in view, in the order shown. */
  view(): readonly Row[] {
    return this.sorted;
  }

  set_rows(rows: Row[], empty: string = this.options.empty): void {
    this.rows = rows;
    this.empty.textContent = empty;
    this.redraw();
  }

  /** Sorts by a column; the other way round when it is the sorted one already. */
  sort_by(column: number): void {
    this.sign = this.column === column ? -this.sign : 1;
    this.column = column;
    this.redraw();
  }

  redraw(): void {
    const { key } = this.options.columns[this.column];
    const keyed = this.rows.map((row) => ({ row, key: key(row) }));
    this.sorted = keyed.sort((a, b) => compare(a.key, b.key, this.sign)).map((entry) => entry.row);
    this.headers.forEach((header, index) => {
      if (index !== this.column) header.removeAttribute('aria-sort');
      else header.setAttribute('aria-sort', this.sign > 0 ? 'ascending' : 'descending');
    });
    this.body.replaceChildren();
    this.drawn = 0;
    this.empty.hidden = this.rows.length > 0;
    this.draw_more();
  }

  private draw_more(): void {
    const { columns, portion, on_hover } = this.options;
    const end = Math.min(this.sorted.length, this.drawn + portion);
    const fragment = document.createDocumentFragment();
    for (const row of this.sorted.slice(this.drawn, end)) {
      const line = h('tr', {}, ...columns.map((column) => h('td', { class: class_of(column) }, column.cell(row))));
      if (on_hover) line.addEventListener('mouseenter', () => on_hover(row));
      fragment.append(line);
    }
    this.body.append(fragment);
    this.drawn = end;
    const left = this.sorted.length - end;
    this.more.hidden = left === 0;
    this.more.textContent = `Show ${Math.min(left, portion)} more of ${left}`;
  }
}
