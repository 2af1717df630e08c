// SPDX-License-Identifier: Apache-2.0
/* Desk files: what is refused with its line, where requests go, and who may decide. */
#include "handoff/desks/desks.h"
#include "handoff/desks/internal.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define HOUR (3600 * NS_PER_S)

static const char full[] =
    "format: 1\n"
    "people:\n"
    "  ann: {roles: [sec-oncall], may_decide: high}\n"
    "  ben: {roles: [sec-lead]}\n"
    "  cho: {roles: []}\n"
    "desks:\n"
    "  operators: {roles: [sec-oncall], people: [], escalates_to: leads}\n"
    "  leads: {roles: [sec-lead]}\n"
    "routing:\n"
    "  - {id: prod, agent: \"deploy-*\", tool: run_shell, risk: high, desk: leads}\n"
    "rules: {sla: {critical: 2h}, critical_approvals: 1, most_hops: 1, notify_percent: 40}\n"
    "lanes: {per_lane: 2, per_agent: 200000}\n";

static struct desks *read_text(const char *text)
{
    struct desks *desks = NULL;
    struct rondo_error err = {0};
    if (desks_read(text, strlen(text), "desks.yaml", &desks, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return desks;
}

static void assert_refused(const char *text, const char *message)
{
    struct desks *desks = NULL;
    struct rondo_error err = {0};
    assert_true(desks_read(text, strlen(text), "desks.yaml", &desks, &err) < 0);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", message, err.message);
    }
}

static struct handoff on_desk(const char *desk, enum handoff_level risk, uint32_t level)
{
    struct handoff handoff = {.desk_count = 1, .risk = risk, .escalation_level = level};
    snprintf(handoff.desks[0], sizeof(handoff.desks[0]), "%s", desk);
    return handoff;
}

static bool is_assignee(const struct desks *desks, const char *person, struct handoff handoff)
{
    return desks_actor(desks, person, &handoff).is_assignee;
}

/* ---- The file ------------------------------------------------------------------------------- */

TEST(a_file_sets_what_it_says_and_the_rest_is_as_without_it)
{
    struct desks *desks = read_text(full);
    const struct handoff_rules *rules = desks_rules(desks);
    assert_int_equal(rules->sla_ns[HANDOFF_CRITICAL], 2 * HOUR);
    assert_int_equal(rules->sla_ns[HANDOFF_HIGH], 4 * HOUR);
    assert_int_equal(rules->critical_approvals, 1);
    assert_int_equal(rules->most_hops, 1);
    assert_int_equal(rules->notify_percent, 40);
    assert_int_equal(rules->escalate_percent, 75);
    assert_int_equal(desks_lanes(desks)->bounds.per_lane, 2);
    assert_int_equal(desks_lanes(desks)->bounds.per_store, LIMIT_HANDOFFS_OPEN);
    desks_free(desks);
}

TEST(mistakes_are_named_with_their_line)
{
    assert_refused("format: 1\ndesk: {}\n", "desks.yaml:2: \"desk\" is not known here");
    assert_refused("format: 1\ndesks:\n  operators: {role: [a]}\n", "desks.yaml:3: \"role\"");
    assert_refused("format: 1\nformat: 1\n", "desks.yaml:2: \"format\" is given twice");
    assert_refused("format: 2\n", "desks.yaml:1:");
    assert_refused("desks:\n  operators: {}\n", "`format: 1` is missing");
    assert_refused("format: 1\n", "`desks` is missing");
    assert_refused("- 1\n", "a desk file is a map");
    assert_refused("", "a desk file is a map");
    assert_refused("format: 1\ndesks: [\n", "desks.yaml:");
    assert_refused("format: 1\ndesks:\n  a: {people: [zoe]}\n", "desks.yaml:3: \"zoe\" is not in");
    assert_refused("format: 1\ndesks:\n  a: {escalates_to: b}\n", "there is no desk \"b\"");
    assert_refused("format: 1\ndesks:\n  a: {}\nrouting:\n  - {id: x, desk: b}\n",
                   "desks.yaml:5: there is no desk \"b\"");
    assert_refused("format: 1\ndesks:\n  a: {}\nrouting:\n  - {id: x}\n", "needs an id and a desk");
    assert_refused("format: 1\ndesks: {a: {}}\npeople: {b: {may_decide: some}}\n", "low, medium");
    assert_refused("format: 1\ndesks: {\"a:b\": {}}\n", "is not a name");
    assert_refused("format: 1\ndesks: {a: {roles: admin}}\n", "is not a list");
}

TEST(rules_of_redaction_are_read_strictly)
{
#define RULE(rule) \
    "format: 1\npeople: {ann: {roles: [lead]}}\ndesks: {a: {}}\nredaction:\n  - " rule "\n"
    desks_free(read_text("format: 1\ndesks: {a: {}}\nredaction: []\n"));
    desks_free(read_text(RULE("{pointers: [/a~0b/*], hidden_from: [\"*\"], reveal: [lead]}")));
    assert_refused(RULE("{hidden_from: [lead]}"),
                   "desks.yaml:5: a rule of redaction needs pointers");
    assert_refused(RULE("{pointers: []}"), "needs pointers");
    assert_refused(RULE("{pointers: [a]}"), "a JSON pointer");
    assert_refused(RULE("{pointers: [/a~2]}"), "a JSON pointer");
    assert_refused(RULE("{pointers: [\"/a\\0b\"]}"), "a JSON pointer");
    assert_refused(RULE("{pointers: [/a], hidden_from: [leads]}"), "nobody has the role \"leads\"");
    assert_refused(RULE("{pointers: [/a], reveal: [\"*\"]}"), "nobody has the role \"*\"");
    assert_refused(RULE("{pointers: [/a], hidden: [lead]}"), "\"hidden\" is not known here");
    assert_refused("format: 1\ndesks: {a: {}}\nredaction: {}\n", "a list of rules");
}

TEST(of_a_file_that_cannot_be_read_everything_is_hidden)
{
    struct desks *desks = read_text(full);
    struct redact_view none = desks_view(NULL, NULL, NULL, NULL);
    struct redact_view no_rule = desks_view(desks, NULL, NULL, NULL);
    assert_false(redact_hides(&none));
    assert_false(redact_hides(&no_rule));
    desks->is_unusable = true;
    struct redact_view wrong = desks_view(desks, "user:ann", "agent", "tool");
    assert_true(redact_hides(&wrong));
    desks_free(desks);
}

TEST(a_ladder_has_an_end)
{
    assert_refused("format: 1\ndesks:\n  a: {escalates_to: b}\n  b: {escalates_to: a}\n",
                   "escalates to itself");
    assert_refused("format: 1\ndesks:\n  a: {escalates_to: a}\n", "escalates to itself");
    assert_refused("format: 1\ndesks:\n  c: {escalates_to: a}\n  a: {escalates_to: b}\n"
                   "  b: {escalates_to: a}\n",
                   "escalates to itself");
}

TEST(rules_have_limits)
{
#define RULES "format: 1\ndesks: {a: {}}\nrules: "
    assert_refused(RULES "{critical_approvals: 0}\n", "from 1 to 4");
    assert_refused(RULES "{critical_approvals: 5}\n", "from 1 to 4");
    desks_free(read_text(RULES "{critical_approvals: 4}\n"));
    assert_refused(RULES "{most_hops: 8}\n", "from 0 to 7");
    desks_free(read_text(RULES "{most_hops: 7, most_rework: 100, reminders: 8}\n"));
    assert_refused(RULES "{most_rework: 101}\n", "from 0 to 100");
    assert_refused(RULES "{reminders: 9}\n", "from 0 to 8");
    assert_refused(RULES "{levels: 0, reminders: 0}\n", "must not both be 0");
    assert_refused(RULES "{notify_percent: 100}\n", "from 1 to 99");
    assert_refused(RULES "{notify_percent: 80}\n", "must not be above");
    assert_refused(RULES "{claim: 0s}\n", "a duration");
    assert_refused(RULES "{sla: {low: 367d}}\n", "a duration");
    desks_free(read_text(RULES "{sla: {low: 366d}, claim: 1s}\n"));
}

TEST(bounds_have_limits)
{
#define LANES "format: 1\ndesks: {a: {}}\nlanes: "
    assert_refused(LANES "{per_store: 200001}\n", "from 1 to 200000");
    assert_refused(LANES "{per_lane: 0}\n", "from 1 to 200000");
    desks_free(read_text(LANES "{per_store: 200000, per_lane: 1}\n"));
}

TEST(a_file_says_what_happens_when_there_is_no_room_and_no_time)
{
    struct desks *desks = read_text(LANES "{on_full: shed_oldest_low, on_timeout: {reroute: a}}\n");
    assert_int_equal(desks_lanes(desks)->bounds.on_full, ON_FULL_SHED);
    assert_int_equal(desks_rules(desks)->on_timeout, ON_TIMEOUT_REROUTE);
    assert_string_equal(desks_rules(desks)->timeout_desk, "a");
    desks_free(desks);
    desks = read_text(LANES "{on_full: block, on_timeout: escalate}\n");
    assert_int_equal(desks_lanes(desks)->bounds.on_full, ON_FULL_BLOCK);
    assert_int_equal(desks_rules(desks)->on_timeout, ON_TIMEOUT_ESCALATE);
    desks_free(desks);
    assert_refused(LANES "{on_full: approve}\n", "block, reject_new or shed_oldest_low");
    assert_refused(LANES "{on_timeout: approve}\n", "auto_expire, escalate or");
    assert_refused(LANES "{on_timeout: reroute}\n", "auto_expire, escalate or");
    assert_refused(LANES "{on_timeout: {fallback_action: {tool: x}}}\n",
                   "auto_expire, escalate or");
    assert_refused(LANES "{on_timeout: {reroute: b}}\n", "there is no desk \"b\"");
}

/** A file with so many entries of a section. */
static void write_many(struct buf *text, const char *section, bool are_rules, size_t count)
{
    bool are_desks = strcmp(section, "desks") == 0;
    buf_printf(text, "format: 1\n%s%s:\n", are_desks ? "" : "desks: {a: {}}\n", section);
    for (size_t i = 0; i < count; i++) {
        if (are_rules) {
            buf_printf(text, "  - {id: r%zu, desk: a}\n", i);
        } else {
            buf_printf(text, "  n%zu: {}\n", i);
        }
    }
}

static void check_most(const char *section, bool are_rules, size_t most)
{
    auto_buf struct buf fits = {0};
    auto_buf struct buf is_too_large = {0};
    write_many(&fits, section, are_rules, most);
    write_many(&is_too_large, section, are_rules, most + 1);
    desks_free(read_text(buf_string(&fits)));
    assert_refused(buf_string(&is_too_large), "the limit is");
}

TEST(sections_have_limits)
{
    check_most("desks", false, LIMIT_DESKS);
    check_most("routing", true, LIMIT_DESKS);
    check_most("people", false, LIMIT_DESKS_PEOPLE);
}

TEST(names_and_files_have_limits)
{
    auto_buf struct buf text = {0};
    char name[LIMIT_AGENT_ID_LEN + 2];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    buf_printf(&text, "format: 1\ndesks: {%s: {}}\n", name);
    assert_refused(buf_string(&text), "is not a name");
    name[LIMIT_AGENT_ID_LEN] = '\0';
    buf_clear(&text);
    buf_printf(&text, "format: 1\ndesks: {%s: {}}\n#", name);
    desks_free(read_text(buf_string(&text)));
    while (text.len < LIMIT_DESKS_BYTES) {
        buf_append_string(&text, "#");
    }
    desks_free(read_text(buf_string(&text)));
    buf_append_string(&text, "#");
    assert_refused(buf_string(&text), "the limit is");
}

TEST(a_name_has_nothing_that_is_not_seen)
{
    assert_refused("format: 1\npeople: {\"ann\\u200b\": {}}\ndesks: {operators: {people: [ann]}}\n",
                   "not seen");
    assert_refused("format: 1\npeople: {\"nna\\u202e\": {}}\n", "not seen");
    desks_free(read_text("format: 1\npeople: {\"J\\u00f6rg\": {}}\ndesks: {operators: {}}\n"));
}

/* ---- Routing -------------------------------------------------------------------------------- */

static const char *route(const struct desks *desks, struct desks_request request)
{
    static char desk[HANDOFF_NAME_SIZE];
    return desks_route(desks, &request, desk, NULL) ? desk : NULL;
}

TEST(the_first_rule_that_matches_decides)
{
    struct desks *desks = read_text(full);
    const char *const supervisors[] = {"operators"};
    struct desks_request request = {.agent_id = "deploy-1",
                                    .tool = "run_shell",
                                    .risk = HANDOFF_HIGH,
                                    .supervisors = supervisors,
                                    .supervisor_count = 1};
    assert_string_equal(route(desks, request), "leads");
    request.risk = HANDOFF_CRITICAL;
    assert_string_equal(route(desks, request), "leads");
    request.risk = HANDOFF_MEDIUM;
    assert_string_equal(route(desks, request), "operators");
    request.routing_policy_id = "prod";
    assert_string_equal(route(desks, request), "leads");
    desks_free(desks);
}

TEST(supervisors_are_desks_roles_or_people)
{
    struct desks *desks = read_text(full);
    const char *const names[] = {"unknown", "sec-lead", "operators"};
    struct desks_request request = {
        .agent_id = "a", .tool = "t", .supervisors = names, .supervisor_count = 3};
    char desk[HANDOFF_NAME_SIZE];
    assert_string_equal(route(desks, request), "leads");
    assert_true(desks_resolve(desks, "cho", desk));
    assert_string_equal(desk, "user:cho");
    assert_true(desks_resolve(desks, "role:sec-lead", desk));
    assert_string_equal(desk, "role:sec-lead");
    assert_false(desks_resolve(desks, "zoe", desk));
    assert_false(desks_resolve(desks, "user:zoe", desk));
    desks_free(desks);
}

TEST(t4_without_a_default_desk_nothing_resolves)
{
    struct desks *desks = read_text("format: 1\ndesks: {leads: {}}\n");
    struct desks_request request = {.agent_id = "a", .tool = "t"};
    assert_null(route(desks, request));
    assert_string_equal(route(NULL, request), HANDOFF_DESK);
    desks_free(desks);
}

/* ---- People --------------------------------------------------------------------------------- */

TEST(who_is_on_the_desk_decides_up_to_a_risk)
{
    struct desks *desks = read_text(full);
    struct handoff high = on_desk("operators", HANDOFF_HIGH, 0);
    struct handoff critical = on_desk("operators", HANDOFF_CRITICAL, 0);
    assert_true(is_assignee(desks, "user:ann", high));
    assert_false(is_assignee(desks, "user:ben", high));
    assert_false(is_assignee(desks, "user:zoe", high));
    assert_false(is_assignee(desks, "ann", high)); /* The agent of that name. */
    assert_true(desks_actor(desks, "user:ann", &high).may_decide);
    assert_false(desks_actor(desks, "user:ann", &critical).may_decide);
    assert_true(desks_actor(desks, "user:ben", &critical).may_decide);
    assert_false(desks_actor(desks, "user:zoe", &high).may_decide);
    assert_string_equal(desks_role(desks, "user:ann", &high), "sec-oncall");
    desks_free(desks);
}

TEST(an_escalation_adds_the_next_desk)
{
    struct desks *desks = read_text(full);
    assert_true(is_assignee(desks, "user:ben", on_desk("operators", HANDOFF_HIGH, 1)));
    assert_true(is_assignee(desks, "user:ann", on_desk("operators", HANDOFF_HIGH, 1)));
    assert_false(is_assignee(desks, "user:ann", on_desk("leads", HANDOFF_HIGH, 2)));
    desks_free(desks);
}

TEST(what_is_on_a_desk_that_is_gone_is_on_the_default_one)
{
    struct desks *desks = read_text(full);
    assert_true(is_assignee(desks, "user:ann", on_desk("gone", HANDOFF_LOW, 0)));
    assert_false(is_assignee(desks, "user:ben", on_desk("gone", HANDOFF_LOW, 0)));
    desks_free(desks);
}

TEST(a_personal_desk_is_of_one_person)
{
    struct desks *desks = read_text(full);
    assert_true(is_assignee(desks, "user:cho", on_desk("user:cho", HANDOFF_LOW, 0)));
    assert_false(is_assignee(desks, "user:ann", on_desk("user:cho", HANDOFF_LOW, 0)));
    assert_true(is_assignee(desks, "user:ann", on_desk("user:cho", HANDOFF_LOW, 1)));
    assert_true(is_assignee(desks, "user:ben", on_desk("role:sec-lead", HANDOFF_LOW, 0)));
    desks_free(desks);
}

TEST(without_a_file_everybody_decides)
{
    struct desks_names roles;
    struct handoff handoff = on_desk("operators", HANDOFF_CRITICAL, 0);
    struct handoff_actor actor = desks_actor(NULL, "user:zoe", &handoff);
    assert_true(actor.is_assignee && actor.may_decide);
    assert_true(desks_person(NULL, "user:zoe", &roles));
    assert_string_equal(desks_role(NULL, "user:zoe", &handoff), "operator");
}
