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

/** How high the drawer under a row is. */
export const DRAWER_HEIGHT = 264;

/** How high the body is; half a row at its lower edge shows that there are more. */
export function bodyHeight(rows: number): number {
  return (rows > ROWS_IN_SIGHT ? ROWS_IN_SIGHT + 0.5 : Math.max(rows, 1)) * ROW_HEIGHT;
}

/**
 * The places of the rows that must exist now, ascending.
 *
 * @param scroller - the element that scrolls
 * @param count - how many rows there are
 * @param kept - rows that must exist also when they are out of sight: they have the keyboard, or the drawer; -1: none
 * @param open - the row that has the drawer under it; -1: none
 */
export function useVirtualRows(
  scroller: RefObject<HTMLDivElement | null>,
  count: number,
  kept: readonly number[],
  open: number,
): number[] {
  const [, redraw] = useReducer((drawn: number) => drawn + 1, 0);
  const virtualizer = useRef<Virtualizer<HTMLDivElement, HTMLDivElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: (index: number) => (index === open ? ROW_HEIGHT + DRAWER_HEIGHT : ROW_HEIGHT),
    overscan: 6,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(0),
    rangeExtractor: (range: Parameters<typeof defaultRangeExtractor>[0]) => {
      const rows = defaultRangeExtractor(range);
      for (const row of kept) if (row >= 0 && row < count && !rows.includes(row)) rows.push(row);
      return rows.sort((a, b) => a - b);
    },
  };
  virtualizer.current ??= new Virtualizer(options);
  const { current } = virtualizer;
  current.setOptions(options);
  useLayoutEffect(() => current._didMount(), [current]);
  useLayoutEffect(() => current._willUpdate());
  useLayoutEffect(() => current.measure(), [current, open]);
  return current.getVirtualItems().map((item) => item.index);
}

/**
 * Scrolls along with the row that has the drawer when the order moves it: what somebody reads stays where it is.
 *
 * @param row - the row; null: there is no drawer
 * @param place - its place; -1: it is not shown
 */
export function useSteadyDrawer(scroller: RefObject<HTMLDivElement | null>, row: number | null, place: number): void {
  const before = useRef({ row, place });
  useLayoutEffect(() => {
    const { current } = before;
    before.current = { row, place };
    if (row === null || row !== current.row || place < 0 || current.place < 0) return;
    if (scroller.current && place !== current.place) scroller.current.scrollTop += (place - current.place) * ROW_HEIGHT;
  }, [scroller, row, place]);
}
