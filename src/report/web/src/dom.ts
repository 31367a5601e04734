// Builds elements without innerHTML: names of tensors can hold any character, and the page allows no inline style.

type Attributes = Record<string, string | number | boolean | EventListener | undefined>;
export type Child = Node | string | null | undefined | false;

/** An element with attributes, listeners (keys that start with "on") and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** An element of a picture. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number>,
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** A small stroked icon on a 16 x 16 grid. */
export function icon(path: string): SVGSVGElement {
  const picture = svg('svg', { viewBox: '0 0 16 16', class: 'icon', 'aria-hidden': 'true' });
  picture.append(svg('path', { d: path }));
  return picture;
}

/** The text with every occurrence of a pattern inside <mark>. */
export function marked(text: string, patterns: readonly string[]): DocumentFragment {
  const inside = new Uint8Array(text.length);
  for (const pattern of patterns) {
    if (pattern === '') continue;
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + 1)) {
      inside.fill(1, at, at + pattern.length);
    }
  }
  const fragment = document.createDocumentFragment();
  for (let begin = 0, end = 0; begin < text.length; begin = end) {
    while (end < text.length && inside[end] === inside[begin]) ++end;
    const piece = text.slice(begin, end);
    fragment.append(inside[begin] ? h('mark', {}, piece) : piece);
  }
  return fragment;
}

/** Moves an absolutely placed element; CSSOM writes are not inline styles for the page's policy. */
export function place(element: HTMLElement, x: number, y: number, width?: number, height?: number): void {
  element.style.transform = `translate(${x}px, ${y}px)`;
  if (width !== undefined) element.style.width = `${width}px`;
  if (height !== undefined) element.style.height = `${height}px`;
}
