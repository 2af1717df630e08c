// SPDX-License-Identifier: Apache-2.0
// Rows of one height, of which only those in sight are in the page.
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSize } from "../lib/hooks.js";

const SPARE = 8;

/**
 * row(index) gives a row's element. `handle` gets {reveal(index), toEnd(), isAtEnd()}. `anchor`: when it
 * shrinks by n, n rows came before the first one, and what is in sight stays where it is.
 */
export function VirtualRows({
  count,
  height,
  row,
  onNearEnd,
  onScroll,
  handle,
  anchor = 0,
  follow = false,
  ...rest
}) {
  const ref = useRef(null);
  const size = useSize(ref);
  const [top, setTop] = useState(0);
  const lastAnchor = useRef(anchor);
  const isAtEnd = () => {
    const element = ref.current;
    return (
      !element || element.scrollHeight - element.scrollTop - element.clientHeight < height * 1.5
    );
  };
  useImperativeHandle(
    handle,
    () => ({
      reveal(index) {
        const element = ref.current;
        const start = index * height;
        if (start < element.scrollTop) element.scrollTop = start;
        else if (start + height > element.scrollTop + element.clientHeight) {
          element.scrollTop = start + height - element.clientHeight;
        }
      },
      toEnd() {
        ref.current.scrollTop = ref.current.scrollHeight;
      },
      isAtEnd,
    }),
    [height],
  );
  useLayoutEffect(() => {
    const grown = lastAnchor.current - anchor;
    lastAnchor.current = anchor;
    if (grown > 0 && ref.current && !follow) ref.current.scrollTop += grown * height;
  }, [anchor, height, follow]);
  useLayoutEffect(() => {
    if (follow && ref.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, [count, follow, size.height]);
  const first = Math.max(0, Math.floor(top / height) - SPARE);
  const last = Math.min(count, Math.ceil((top + (size.height || 800)) / height) + SPARE);
  useEffect(() => {
    if (onNearEnd && last >= count - SPARE) onNearEnd();
  }, [last, count, onNearEnd]);
  const rows = [];
  for (let i = first; i < last; i += 1) rows.push(row(i));
  return (
    <div
      ref={ref}
      class="virtual"
      onScroll={(event) => {
        setTop(event.currentTarget.scrollTop);
        onScroll?.(isAtEnd());
      }}
      {...rest}
    >
      <div class="virtual-space" role="presentation" style={{ height: `${count * height}px` }}>
        <div
          class="virtual-rows"
          role="presentation"
          style={{ transform: `translateY(${first * height}px)` }}
        >
          {rows}
        </div>
      </div>
    </div>
  );
}
