// SPDX-License-Identifier: Apache-2.0
// Dialogs on the browser's own element: it keeps the focus inside and gives it back.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Button } from "./parts.jsx";
import { Notice } from "./states.jsx";

/** onSubmit may be slow: the dialog waits, shows what went wrong, and closes when it is done, unless
 *  it says false: then there is a further step. */
export function Dialog({
  title,
  children,
  submit,
  tone = "primary",
  onSubmit,
  onClose,
  isWide = false,
  isReady = true,
}) {
  const ref = useRef(null);
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const element = ref.current;
    const before = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      before?.focus?.();
    };
  }, []);
  const run = async (event) => {
    event.preventDefault();
    if (isBusy || !isReady) return;
    setBusy(true);
    setProblem(null);
    try {
      if ((await onSubmit()) === false) setBusy(false);
      else onClose();
    } catch (failure) {
      setProblem(failure);
      setBusy(false);
    }
  };
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog
      ref={ref}
      class={`dialog ${isWide ? "dialog-wide" : ""}`}
      aria-labelledby={id}
      onCancel={cancel}
    >
      <form method="dialog" onSubmit={run}>
        <h2 id={id}>{title}</h2>
        <div class="dialog-body">{children}</div>
        {problem && (
          <Notice tone="red">
            {problem.message}
            {problem.errors?.map?.(({ path, message }) => (
              <p key={path}>
                {path}: {message}
              </p>
            ))}
          </Notice>
        )}
        <footer class="dialog-foot">
          <Button onClick={onClose}>{submit ? "Cancel" : "Close"}</Button>
          {submit && (
            <Button
              type="submit"
              tone={tone}
              isBusy={isBusy}
              why={isReady ? null : "Nothing to submit yet"}
              onClick={() => {}}
            >
              {submit}
            </Button>
          )}
        </footer>
      </form>
    </dialog>
  );
}
