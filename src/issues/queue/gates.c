// SPDX-License-Identifier: Apache-2.0
/*
 * The circuit of checks: issues in a row whose checks failed in the same way are not at fault
 * themselves. A tool is missing on this machine, or the base does not pass. No further issue is
 * begun for a while then; one is let through after that.
 */
#include "issues/queue/internal.h"

#include "base/ascii.h"
#include "base/hash.h"
#include "base/memory.h"

#include <string.h>

static bool is_word(char c)
{
    return ascii_is_letter_or_digit(c) || c == '-' || c == '_';
}

/** Mix a text into a print, but for words with digits: times, ids, addresses, lines, folders. */
static uint64_t mix(uint64_t print, const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t len = 0;
        bool has_digit = false;
        for (; is_word(text[len]); len++) {
            has_digit = has_digit || (text[len] >= '0' && text[len] <= '9');
        }
        size_t end = len == 0 ? 1 : len;
        for (size_t i = 0; i < end && !has_digit; i++) {
            print = hash_byte(print, text[i]);
        }
        text += end;
    }
    return print;
}

/** The check at which an attempt failed; NULL = it failed otherwise. */
static const struct work_check *find_failed(const struct work_attempt *attempt)
{
    for (size_t i = attempt->check_count; i-- > 0;) {
        const struct work_check *check = &attempt->checks[i];
        bool is_setup = check->stage != NULL && strcmp(check->stage, "before") == 0;
        if (!check->is_met && (is_setup || strcmp(attempt->outcome, "checks_failed") == 0)) {
            return check;
        }
    }
    return NULL;
}

uint64_t queue_gate_print(const struct work_attempt *attempt)
{
    const struct work_check *check = attempt == NULL ? NULL : find_failed(attempt);
    if (check == NULL) {
        return 0;
    }
    uint64_t print = HASH_START ^ (uint64_t)check->exit_code;
    print = mix(mix(print, check->name), check->command);
    print = mix(mix(print, check->message), check->output);
    return print == 0 ? 1 : print;
}

void queue_gates_failed(struct issue_queue *queue, const struct queue_slot *slot)
{
    struct issue_circuit *circuit = &queue->gate_circuit;
    if (slot->outcome.gate_print != queue->gate_print) {
        queue_gates_worked(queue); /* They fail because of what is in the issues. */
    }
    queue->gate_print = slot->outcome.gate_print;
    issue_circuit_failed(circuit, QUEUE_FAILURES, QUEUE_GATE_POLLS * queue->options.poll_ns,
                         clock_monotonic(queue->options.clock));
    if (circuit->failures >= QUEUE_FAILURES) {
        queue_trouble(queue, QUEUE_TROUBLE_GATES,
                      "the checks of %d issues in a row failed in the same way, so the "
                      "issues are probably not the cause; the next one is begun later: %s",
                      QUEUE_FAILURES, slot->outcome.message == NULL ? "" : slot->outcome.message);
    }
}

void queue_gates_worked(struct issue_queue *queue)
{
    issue_circuit_worked(&queue->gate_circuit);
    queue->gate_print = 0;
    queue_untrouble(queue, QUEUE_TROUBLE_GATES);
}
