// SPDX-License-Identifier: Apache-2.0
import { Dialog } from "./dialog.jsx";

const keysOf = (pages) => [
  ["j k", "Next, previous row"],
  ["Enter", "Open the row"],
  ["/", "Search"],
  ["Esc", "Leave the search, close a dialog"],
  ["1 – 6", "Tabs of a run"],
  ["j k b d l", "Tasks: next, previous, board, graph, progress log"],
  ["u", "Back to the list"],
  ["a r t i", "Inbox: approve, reject, pass on, ask"],
  ["c e v", "Inbox: claim or release, escalate, reveal a hidden value"],
  [
    `g then ${pages.map(({ jump }) => jump).join(" ")}`,
    pages.map(({ name }, at) => (at ? name.toLowerCase() : name)).join(", "),
  ],
  ["?", "This list"],
];

export function KeyHelp({ pages, onClose }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {keysOf(pages).map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys
                .split(" ")
                .map((key) =>
                  key.length < 6 && key !== "then" && key !== "–" ? (
                    <kbd key={key}>{key}</kbd>
                  ) : (
                    ` ${key} `
                  ),
                )}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
