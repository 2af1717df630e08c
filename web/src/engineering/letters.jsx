// SPDX-License-Identifier: Apache-2.0
// Dead letters: why a message was not accepted or could not be processed, and another try.
import { useState } from "preact/hooks";
import { post } from "../lib/api.js";
import { count } from "../lib/format.js";
import { useLive } from "../lib/hooks.js";
import { lacks } from "../lib/session.js";
import { Dialog } from "../ui/dialog.jsx";
import { Age, Button, Panel } from "../ui/parts.jsx";
import { Loaded } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";
import { Table } from "./table.jsx";

const QUEUES = { intake: "not accepted", delivery: "not processed" };

function Actions({ letter, onReplay, onDiscard }) {
  const lack = lacks("administer");
  return (
    <span class="row-actions">
      {letter.can_replay && (
        <Button why={lack} onClick={() => onReplay(letter)}>
          Replay
        </Button>
      )}
      <Button why={lack} onClick={() => onDiscard(letter)}>
        Discard
      </Button>
    </span>
  );
}

function Discard({ letter, onClose, onDone }) {
  const path = `/v1/dlq/${encodeURIComponent(letter.id)}/discard`;
  const submit = async () => {
    await post(path);
    onDone();
  };
  return (
    <Dialog
      title="Discard this dead letter?"
      submit="Discard it"
      tone="danger"
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        {letter.can_replay
          ? "The agent never gets this message."
          : "That the message was refused is forgotten."}
      </p>
    </Dialog>
  );
}

export function DeadLetters() {
  const state = useLive("/v1/dlq");
  const [discarded, setDiscarded] = useState(null);
  const replay = async (letter) => {
    try {
      await post(`/v1/dlq/${encodeURIComponent(letter.id)}/replay`);
      toast("It is delivered again");
    } catch (problem) {
      toast(problem.message, { tone: "amber" });
    }
    state.reload();
  };
  return (
    <Panel title="Dead letters" id="eng-letters" className="is-wide">
      <Loaded of={state} rows={2}>
        {({ letters }) => (
          <Table
            label="Dead letters"
            none="None: all messages were accepted and processed"
            heads={[["Message and reason"], ["Times"], ["Last"], ["Actions"]]}
            rows={letters.map((letter) => [
              letter.id,
              <>
                <code class="wrap">{letter.code}</code>{" "}
                <small class="faint">
                  {QUEUES[letter.queue] ?? letter.queue}, {letter.agent_id ?? letter.caller}
                </small>
                <span class="letter-reason">{letter.reason || "no reason given"}</span>
              </>,
              count(letter.count),
              <Age time={letter.last_at} />,
              <Actions letter={letter} onReplay={replay} onDiscard={setDiscarded} />,
            ])}
          />
        )}
      </Loaded>
      {discarded && (
        <Discard
          letter={discarded}
          onClose={() => setDiscarded(null)}
          onDone={() => state.reload()}
        />
      )}
    </Panel>
  );
}
