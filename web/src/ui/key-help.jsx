// SPDX-License-Identifier: Apache-2.0
import { Dialog } from "./dialog.jsx";

const KEYS = [
  ["j k", "Next, previous row"],
  ["Enter", "Open the row"],
  ["/", "Search"],
  ["Esc", "Leave the search, close a dialog"],
  ["1 – 5", "Tabs of a run"],
  ["u", "Back to the list"],
  ["g then r w p h", "Runs, warnings, policies, health"],
  ["?", "This list"],
];

export function KeyHelp({ onClose }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([keys, text]) => (
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
