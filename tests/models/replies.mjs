// SPDX-License-Identifier: Apache-2.0
// Replies of both dialects in their documented forms: whole, and as the events of a stream. The
// official SDKs and our client read the same bytes; what they make of them must agree.

const usage = {
  prompt_tokens: 120,
  completion_tokens: 45,
  total_tokens: 165,
  prompt_tokens_details: { cached_tokens: 64, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 0 },
};

const head = { id: "chatcmpl-1", created: 1768953600, model: "m", system_fingerprint: "fp" };

function whole(message, reason) {
  return {
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
    usage,
  };
}

function chunks(deltas, reason) {
  const piece = (delta, finish_reason = null) => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    usage: null,
  });
  return [
    piece({ role: "assistant", content: "", refusal: null }),
    ...deltas.map((delta) => piece(delta)),
    piece({}, reason),
    { ...head, object: "chat.completion.chunk", choices: [], usage },
  ];
}

const call = (id, name, text) => ({ id, type: "function", function: { name, arguments: text } });
const argument = (index, text) => ({ tool_calls: [{ index, function: { arguments: text } }] });

export const openai = {
  text: {
    whole: whole(
      { role: "assistant", content: 'Grüße, "world" \u{1f600}\n', refusal: null },
      "stop",
    ),
    events: chunks(
      [{ content: "Grü" }, { content: 'ße, "world" ' }, { content: "\u{1f600}\n" }],
      "stop",
    ),
  },
  calls: {
    whole: whole(
      {
        role: "assistant",
        content: null,
        refusal: null,
        tool_calls: [
          call("call_1", "get_weather", '{"city": "Zürich"}'),
          call("call_2", "get_time", "{}"),
        ],
      },
      "tool_calls",
    ),
    events: chunks(
      [
        { tool_calls: [{ index: 0, ...call("call_1", "get_weather", "") }] },
        argument(0, '{"ci'),
        argument(0, 'ty": "Zürich"}'),
        { tool_calls: [{ index: 1, ...call("call_2", "get_time", "") }] },
        argument(1, "{}"),
      ],
      "tool_calls",
    ),
  },
  both: {
    whole: whole(
      {
        role: "assistant",
        content: "I look.",
        refusal: null,
        tool_calls: [call("c", "get_time", "{}")],
      },
      "tool_calls",
    ),
    events: chunks(
      [
        { content: "I " },
        { content: "look." },
        { tool_calls: [{ index: 0, ...call("c", "get_time", "{}") }] },
      ],
      "tool_calls",
    ),
  },
  cut: {
    whole: whole({ role: "assistant", content: "It goes on and", refusal: null }, "length"),
    events: chunks([{ content: "It goes on and" }], "length"),
  },
  filtered: {
    whole: whole({ role: "assistant", content: "", refusal: null }, "content_filter"),
    events: chunks([], "content_filter"),
  },
  refused: {
    whole: whole({ role: "assistant", content: null, refusal: "No, I will not." }, "stop"),
    events: chunks([{ refusal: "No, " }, { refusal: "I will not." }], "stop"),
  },
};

const input = {
  input_tokens: 20,
  cache_creation_input_tokens: 30,
  cache_read_input_tokens: 70,
  output_tokens: 1,
};

function message(content, stop_reason, output_tokens) {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content,
    stop_reason,
    stop_sequence: null,
    usage: { ...input, output_tokens },
  };
}

/** The blocks of a message as events; texts and inputs come in pieces of three characters. */
function events(whole) {
  const pieces = (text) => text.match(/[^]{1,3}/gu) ?? [];
  const list = [
    { type: "message_start", message: { ...whole, content: [], stop_reason: null, usage: input } },
    { type: "ping" },
  ];
  whole.content.forEach((block, index) => {
    const delta = (delta) => list.push({ type: "content_block_delta", index, delta });
    const start = { ...block };
    if (block.type === "text") start.text = "";
    if (block.type === "thinking") Object.assign(start, { thinking: "", signature: "" });
    if (block.type === "tool_use") start.input = {};
    list.push({ type: "content_block_start", index, content_block: start });
    if (block.type === "text")
      pieces(block.text).forEach((text) => delta({ type: "text_delta", text }));
    if (block.type === "thinking") {
      pieces(block.thinking).forEach((thinking) => delta({ type: "thinking_delta", thinking }));
      delta({ type: "signature_delta", signature: block.signature });
    }
    if (block.type === "tool_use") {
      delta({ type: "input_json_delta", partial_json: "" });
      pieces(JSON.stringify(block.input)).forEach((partial_json) =>
        delta({ type: "input_json_delta", partial_json }),
      );
    }
    list.push({ type: "content_block_stop", index });
  });
  const { stop_reason, usage } = whole;
  list.push({
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: usage.output_tokens },
  });
  list.push({ type: "message_stop" });
  return list;
}

const both = (whole) => ({ whole, events: events(whole) });

export const anthropic = {
  text: both(message([{ type: "text", text: 'Grüße, "world" \u{1f600}\n' }], "end_turn", 12)),
  calls: both(
    message(
      [
        { type: "thinking", thinking: "Which city?", signature: "c2ln/bmF0dXJl==" },
        { type: "redacted_thinking", data: "ZGF0YQ==" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Zürich" } },
        { type: "tool_use", id: "toolu_2", name: "get_time", input: {} },
      ],
      "tool_use",
      88,
    ),
  ),
  cut: both(message([{ type: "text", text: "It goes on and" }], "max_tokens", 512)),
  refused: both(message([{ type: "text", text: "No." }], "refusal", 3)),
  paused: both(message([{ type: "text", text: "Wait." }], "pause_turn", 3)),
};
