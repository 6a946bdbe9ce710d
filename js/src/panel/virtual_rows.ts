/** Which rows of a long list are in sight: @tanstack/virtual-core, as a hook. */

import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

export const ROW_HEIGHT = 28;

/** More rows scroll. */
export const ROWS_IN_SIGHT = 14;

/** How high the body is; half a row at its lower edge shows that there are more. */
export function bodyHeight(rows: number): number {
  return (rows > ROWS_IN_SIGHT ? ROWS_IN_SIGHT + 0.5 : Math.max(rows, 1)) * ROW_HEIGHT;
}

/**
 * The places of the rows that must exist now, ascending.
 *
 * @param scroller - the element that scrolls
 * @param count - how many rows there are
 * @param kept - the row that must exist also when it is out of sight, because it has the keyboard; -1: none
 */
export function useVirtualRows(scroller: RefObject<HTMLDivElement | null>, count: number, kept: number): number[] {
  const [, redraw] = useReducer((drawn: number) => drawn + 1, 0);
  const virtualizer = useRef<Virtualizer<HTMLDivElement, HTMLDivElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 6,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(0),
    rangeExtractor: (range: Parameters<typeof defaultRangeExtractor>[0]) => {
      const rows = defaultRangeExtractor(range);
      if (kept >= 0 && kept < count && !rows.includes(kept)) rows.push(kept);
      return rows.sort((a, b) => a - b);
    },
  };
  virtualizer.current ??= new Virtualizer(options);
  const { current } = virtualizer;
  current.setOptions(options);
  useLayoutEffect(() => current._didMount(), [current]);
  useLayoutEffect(() => current._willUpdate());
  return current.getVirtualItems().map((item) => item.index);
}
