// SPDX-License-Identifier: Apache-2.0
/* What the store of fuzz_store.c has before it is damaged: something of everything. */
#pragma once

#define STORE_WORKER  "01900000-0000-7000-8000-00000000000a"
#define STORE_AGENT   "01900000-0000-7000-8000-00000000000b"
#define STORE_REQUEST "01900000-0000-7000-8000-00000000000c"

struct store_row {
    const char *type;
    const char *data;
};

#define STORE_SPEC(kind, more)                                                                     \
    "{\"format\":1,\"version\":\"0.1.0\",\"agent_id\":\"mender\",\"spec\":"                        \
    "{\"agent_id\":\"mender\",\"kind\":\"" kind "\",\"workspace\":\"/nonexistent\"," more          \
    "\"max_iterations\":5,\"max_tokens\":100,\"conditions\":["                                     \
    "{\"name\":\"tests\",\"command\":\"false\",\"origin\":\"given\",\"timeout_ns\":30000000000}]}" \
    "}"

static const struct store_row store_worker_rows[] = {
    {"run.created", STORE_SPEC("command", "\"command\":[\"false\"],")},
    {"policy.changed", "{\"sha256\":\"00\",\"source\":\"/p\",\"limits\":{\"iterations\":5}}"},
    {"iteration.started", "{\"iteration\":1,\"attempt\":1,\"limit\":5}"},
    {"iteration.finished", "{\"iteration\":1,\"outcome\":\"ok\",\"exit_code\":0,\"tokens\":10,"
                           "\"cost_micro\":5,\"finish\":\"completed\",\"summary\":\"done\","
                           "\"output\":\"words\",\"custom_data\":{\"a\":1}}"},
    {"verification.started", "{\"iteration\":1,\"total\":1}"},
    {"condition.evaluated", "{\"iteration\":1,\"name\":\"tests\",\"status\":\"not_met\","
                            "\"reason\":\"failed\",\"exit_code\":1,\"output\":\"no\"}"},
    {"verification.finished", "{\"iteration\":1,\"met\":0,\"total\":1}"},
    {"finish.rejected", "{\"iteration\":1,\"met\":0,\"total\":1}"},
    {"checkpoint.saved", "{\"number\":1,\"iteration\":1,\"bytes\":5,\"sha256\":\"00\"}"},
    {"limit.warning", "{\"iteration\":1,\"limit_name\":\"iterations\",\"limit\":5,\"value\":4}"},
    {"run.paused", "{\"by\":\"alice\",\"message\":\"wait\"}"},
    {"run.continued", "{\"by\":\"alice\"}"},
    {"storage.degraded", "{\"failures\":2,\"duration_ns\":5,\"message\":\"full\"}"},
    {"note", "{\"name\":\"n\",\"attributes\":{\"a\":[1,2]}}"},
    {"run.claimed", "{\"epoch\":2,\"owner\":\"pid=1\",\"how\":\"resume\",\"alive_ns\":5}"},
    {"gate.denied", "{\"iteration\":2,\"status\":\"blocked\",\"policy\":\"p\",\"limit\":5,"
                    "\"value\":6,\"reason\":\"forbidden\",\"policies\":[\"p\"]}"},
    {"run.finished", "{\"status\":\"blocked\",\"iteration\":1,\"message\":\"denied\"}"},
};

static const struct store_row store_agent_rows[] = {
    {"run.created", STORE_SPEC("role", "\"agent\":{\"role\":{\"metadata\":{\"name\":\"a\"}}},")},
    {"iteration.started", "{\"iteration\":1,\"attempt\":1,\"limit\":5}"},
    {"model.requested", "{\"iteration\":1,\"turn\":1,\"attempt\":1,\"model\":\"m\","
                        "\"messages\":2,\"prompt\":\"mend it\"}"},
    {"model.retrying", "{\"iteration\":1,\"turn\":1,\"attempt\":1,\"delay_ns\":5}"},
    {"model.replied", "{\"iteration\":1,\"turn\":1,\"outcome\":\"ok\",\"stop\":\"tools\","
                      "\"output\":\"I call\",\"calls\":[{\"id\":\"c1\",\"name\":\"shell\","
                      "\"arguments\":\"{}\"}],\"tokens\":9,\"tokens_in\":5,\"tokens_out\":4}"},
    {"tool.requested", "{\"iteration\":1,\"turn\":1,\"index\":0,\"attempt\":1,"
                       "\"call_id\":\"c1\",\"name\":\"shell\",\"arguments\":\"{}\"}"},
    {"tool.finished", "{\"iteration\":1,\"turn\":1,\"index\":0,\"call_id\":\"c1\","
                      "\"name\":\"shell\",\"outcome\":\"ok\",\"output\":\"out\"}"},
    {"person.answered", "{\"iteration\":1,\"name\":\"shell\",\"outcome\":\"yes\","
                        "\"duration_ns\":7}"},
    {"plan.updated", "{\"iteration\":1,\"plan\":[{\"description\":\"d\",\"status\":\"done\"}]}"},
    {"history.trimmed", "{\"iteration\":1,\"value\":2,\"messages\":9}"},
    {"step.denied", "{\"iteration\":1,\"action\":\"call_tool\",\"name\":\"shell\"}"},
    {"model.replied", "{\"iteration\":1,\"turn\":2,\"outcome\":\"ok\",\"stop\":\"end\","
                      "\"output\":\"bye\",\"native\":{\"x\":1}}"},
    {"iteration.finished", "{\"iteration\":1,\"outcome\":\"ok\",\"tokens\":9}"},
    {"run.options", STORE_SPEC("role", "\"agent\":{\"role\":{}},")},
};

static const struct store_row store_documents[] = {
    {"token/00", "{\"name\":\"r\",\"scope\":\"read\",\"agents\":[\"mender\"],\"created_ns\":1}"},
    {"sink/ops", "{\"name\":\"ops\",\"kind\":\"webhook\",\"url\":\"http://127.0.0.1:1/h\","
                 "\"kinds\":[\"limit\"],\"agents\":[\"mender\"]}"},
    {"warning/00000000000000000010",
     "{\"id\":\"00000000000000000010\",\"kind\":\"limit\",\"run_id\":\"" STORE_WORKER "\","
     "\"agent_id\":\"mender\",\"time\":\"2026-01-01T00:00:00Z\",\"text\":\"near\"}"},
    {"delivery/00000000000000000010-ops", "{\"id\":\"d\",\"sink\":\"ops\",\"attempts\":1,"
                                          "\"warning\":{\"kind\":\"limit\"}}"},
    {"dead-letter/00000000000000000009-ops", "{\"id\":\"d\",\"sink\":\"ops\",\"attempts\":8,"
                                             "\"warning\":{\"kind\":\"limit\"}}"},
    {"monitor/cursor", "{\"position\":3}"},
    {"monitor-run/" STORE_WORKER, "{\"stalled\":true}"},
    {"managed/" STORE_WORKER, "{\"state\":\"paused\",\"server\":\"s\",\"by\":\"alice\"}"},
    {"orphan/" STORE_AGENT, "{\"since_ns\":5}"},
    {"idempotency/k", "{\"status\":201,\"body\":{},\"created_ns\":1}"},
    {"telemetry/cursor", "{\"position\":3}"},
    {"source/mender/cron-1", "{\"role\":\"mender\",\"type\":\"cron\",\"summary\":\"0 1 * * *\","
                             "\"problem\":\"\",\"hook\":\"\",\"due_ns\":5,\"details\":{\"a\":1},"
                             "\"owner\":\"pid=1\"}"},
    {"source-mark/mender/cron-1", "{\"seen\":5}"},
    {"start-request/" STORE_REQUEST,
     "{\"format\":1,\"source\":\"mender/cron-1\",\"kind\":\"cron\",\"role\":\"mender\","
     "\"mode\":\"single\",\"received_ns\":5,\"owner\":\"pid=1\",\"key\":\"k\","
     "\"context\":{\"a\":1},\"prompt\":\"Text between <data-0123456789abcdef> and\"}"},
    {"start-key/mender/cron-1/k", "{\"run_id\":\"" STORE_REQUEST "\",\"received_ns\":5}"},
    {"start-refusal/00000000000000000005-" STORE_REQUEST,
     "{\"kind\":\"dropped\",\"time_ns\":5,\"run_id\":\"" STORE_REQUEST "\","
     "\"source\":\"mender/cron-1\",\"role\":\"mender\",\"reason\":\"full\"}"},
    {"follow-up/f1", "{\"id\":\"f1\",\"agent\":\"mender\",\"asked_by\":\"" STORE_AGENT "\","
                     "\"state\":\"pending\",\"depth\":1,\"prompt\":\"look\","
                     "\"created_ns\":5,\"due_ns\":6}"},
    {"follow-up-guard/mender", "{}"},
    {"budgets/mender", "{\"format\":1,\"life\":{\"tokens\":9,\"cost_micro\":5},"
                       "\"days\":[{\"day\":20000,\"tokens\":9,\"cost_micro\":5}],"
                       "\"requests\":[{\"run\":\"" STORE_AGENT "\",\"epoch\":1,\"number\":1,"
                       "\"day\":20000,\"tokens\":3,\"cost_micro\":1}],"
                       "\"warned\":{\"daemon_token_budget\":{\"limit\":100,\"begin\":1}},"
                       "\"role\":{\"zone\":\"Europe/Berlin\",\"refuses\":true,"
                       "\"limits\":{\"daemon_token_budget\":100}}}"},
    {"consolidation-due/" STORE_AGENT, "{\"agent\":\"mender\",\"owner\":\"mender\","
                                       "\"attempts\":1,\"not_before_ns\":5}"},
    {"consolidations/mender", "{\"by\":\"pid=1\",\"until_ns\":5,\"run_id\":\"" STORE_AGENT "\","
                              "\"is_replied\":true,\"episodes\":[1],\"facts\":[{\"id\":0,"
                              "\"category\":\"c\",\"content\":\"text\"}]}"},
    {"notice/00000000000000000005", "{\"agent_id\":\"mender\",\"message\":\"dropped\","
                                    "\"time_ns\":5}"},
};
