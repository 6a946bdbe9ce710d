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

export interface VirtualRows {
  /** Places of the rows that exist, ascending. */
  items: number[];
  scrollToIndex(index: number): void;
}

/**
 * @param scroller - the element that scrolls
 * @param count - how many rows there are
 * @param kept - the row that must exist also when it is out of sight, because it has the keyboard; -1: none
 */
export function useVirtualRows(scroller: RefObject<HTMLDivElement | null>, count: number, kept: number): VirtualRows {
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
  return {
    items: current.getVirtualItems().map((item) => item.index),
    scrollToIndex: (index) => current.scrollToIndex(index, { align: "auto" }),
  };
}
