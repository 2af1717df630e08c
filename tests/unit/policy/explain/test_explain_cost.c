// SPDX-License-Identifier: Apache-2.0
/*
 * What an explanation costs, in instructions: a child is run step by step and counted. A clock
 * would say as much about the machine as about the code.
 */
#include "../cedar_help.h"
#include "base/buf.h"
#include "policy/explain/explain.h"
#include "support/sanitizer.h"
#include "support/test.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/** Bytes of comment before each policy: reading the text again and again shows. */
#define COMMENT_BYTES 128
/** Counting ends here, so that a test that fails does so in seconds. */
#define MOST_STEPS 1000000

static void explain_all(struct explain *explain, const struct cedar_policies *policies)
{
    for (uint32_t i = 0; i < cedar_policies_count(policies); i++) {
        assert_int_equal(explain_state(explain, i), EXPLAIN_UNSATISFIED);
        assert_int_equal(explain_policy(explain, i)->condition_count, 1);
    }
}

/** The child: explain each policy between two stops. */
static void be_counted(const struct cedar_policies *policies, const struct cedar_request *request)
{
    struct explain *explain = explain_new(policies, request);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(1);
    }
    explain_all(explain, policies); /* The first time, functions of libraries are found. */
    raise(SIGSTOP);
    explain_all(explain, policies);
    raise(SIGSTOP);
    _exit(0);
}

/** @return instructions, at most `most`, or 0 when this process may not trace */
static uint64_t count_steps(pid_t child, uint64_t most)
{
    uint64_t count = 0;
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        return 0;
    }
    do {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0) {
            count = 0;
            break;
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        count++;
    } while (count < most && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return count;
}

static uint64_t cost_of(unsigned count, uint64_t most)
{
    struct buf text = {0};
    for (unsigned i = 0; i < count; i++) {
        char *room = buf_room(&text, COMMENT_BYTES);
        memset(room, '/', COMMENT_BYTES - 1);
        room[COMMENT_BYTES - 1] = '\n';
        buf_grown(&text, COMMENT_BYTES);
        buf_printf(&text,
                   "@id(\"p%u\")\npermit (principal, action, resource)\n"
                   "when { context.iteration > %u };\n",
                   i, i);
    }
    struct cedar_policies *policies = policies_of(buf_string(&text));
    struct cedar_entities *entities = entities_of("[]");
    struct cedar_question question =
        question_of("Agent::\"a\"", "Action::\"iterate\"", "Run::\"r\"", "{\"iteration\":0}");
    const struct cedar_request request = {
        .principal = question.principal,
        .action = question.action,
        .resource = question.resource,
        .context = question.context,
        .entities = entities,
    };
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        be_counted(policies, &request);
    }
    uint64_t cost = count_steps(child, most);
    question_free(&question);
    cedar_entities_free(entities);
    cedar_policies_unref(policies);
    buf_fini(&text);
    return cost;
}

TEST(each_policy_costs_the_same_however_many_there_are)
{
    uint64_t few = HAS_SANITIZER ? 0 : cost_of(4, MOST_STEPS);
    if (few == 0) {
        print_message("skipped: built with a sanitizer, or processes may not be traced here\n");
        skip();
    }
    uint64_t many = cost_of(16, few * 5);
    print_message("4 policies: %llu instructions, 16: %llu\n", (unsigned long long)few,
                  (unsigned long long)many);
    assert_true(many > few);
    assert_in_range(many, 0, few * 9 / 2);
}
