// SPDX-License-Identifier: Apache-2.0
// The conversation of an agent, put together from events: what was said, each call with its answer.

/** @return [{kind: "prompt"|"reply"|"trimmed"|"iteration", ...}] oldest first */
export function conversation(events) {
  const items = [];
  const calls = new Map();
  for (const event of events) {
    const fold = FOLDS[event.type];
    if (fold) fold(items, calls, event, event.data ?? {});
  }
  return items;
}

const FOLDS = {
  "iteration.started"(items, calls, event, data) {
    items.push({
      kind: "iteration",
      key: event.seq,
      time: event.time,
      iteration: data.iteration,
      attempt: data.attempt,
    });
  },
  "model.requested"(items, calls, event, data) {
    if (data.prompt)
      items.push({ kind: "prompt", key: event.seq, time: event.time, text: data.prompt });
  },
  "model.replied"(items, calls, event, data) {
    const reply = { kind: "reply", key: event.seq, time: event.time, data, calls: [] };
    for (const call of data.calls ?? []) {
      const entry = { ...call, key: `${event.seq}-${call.id}`, answer: null, time: null };
      reply.calls.push(entry);
      calls.set(call.id, entry);
    }
    items.push(reply);
  },
  "tool.requested"(items, calls, event, data) {
    const entry = calls.get(data.call_id);
    if (entry) {
      entry.time = event.time;
      return;
    }
    // Its reply was not fetched: the call stands alone.
    const alone = {
      id: data.call_id,
      name: data.name,
      arguments: data.arguments,
      key: event.seq,
      answer: null,
      time: event.time,
    };
    calls.set(data.call_id, alone);
    items.push({ kind: "reply", key: event.seq, time: event.time, data: {}, calls: [alone] });
  },
  "tool.finished"(items, calls, event, data) {
    const entry = calls.get(data.call_id);
    if (entry) entry.answer = data;
  },
  "history.compacted"(items, calls, event) {
    items.push({ kind: "trimmed", key: event.seq, time: event.time, text: event.text });
  },
  "history.trimmed"(items, calls, event) {
    items.push({ kind: "trimmed", key: event.seq, time: event.time, text: event.text });
  },
};
