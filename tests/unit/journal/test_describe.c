// SPDX-License-Identifier: Apache-2.0
/*
 * Journals that earlier versions wrote, in golden_journal.txt: for each event a line with its type
 * and its data, and one with its category, level and sentence. It is read back, written as it was,
 * and said as it was.
 */
#include "journal/describe.h"

#include "base/json/json.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Bytes of a line of the file. */
#define LINE_SIZE 4096

static bool read_line(FILE *file, char line[LINE_SIZE])
{
    if (fgets(line, LINE_SIZE, file) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    return true;
}

/** "checkpoint warning: checkpoint 4 is damaged and was not used" */
static void describe(const struct journal_event *event, struct buf *ret_line)
{
    buf_printf(ret_line, "%s %s: ", event_category_name(event_category(event->type)),
               event_level_name(event_level(event)));
    event_sentence(event, ret_line);
}

static void check(char *stored, const char *described, bool *ret_is_seen)
{
    char *data = strchr(stored, ' ');
    assert_non_null(data);
    *data++ = '\0';
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    auto_buf struct buf again = {0};
    auto_buf struct buf line = {0};
    assert_int_equal(journal_decode(stored, data, strlen(data), &event, &root, NULL), 0);
    journal_encode(&event, &again);
    assert_string_equal(buf_string(&again), data);
    describe(&event, &line);
    assert_string_equal(buf_string(&line), described);
    ret_is_seen[event.type] = true;
}

TEST(journals_of_earlier_versions_read_and_say_the_same)
{
    bool is_seen[JOURNAL_TYPE_COUNT] = {false};
    char stored[LINE_SIZE];
    char described[LINE_SIZE];
    FILE *file = fopen(SOURCE_ROOT "/tests/unit/journal/golden_journal.txt", "r");
    assert_non_null(file);
    while (read_line(file, stored)) {
        assert_true(read_line(file, described));
        check(stored, described, is_seen);
    }
    fclose(file);
    for (enum journal_type type = 0; type < JOURNAL_TYPE_COUNT; type++) {
        if (!is_seen[type]) {
            fail_msg("no event of type %s in the file", journal_type_name(type));
        }
    }
}

TEST(words_of_others_are_cut_and_cleaned)
{
    char words[4096];
    memset(words, 'x', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    memcpy(words, "a\nb\033[2Jc", 8);
    struct journal_event event = {
        .type = JOURNAL_POLICY_REFUSED,
        .policy_refused = {.message = words},
    };
    auto_buf struct buf text = {0};
    event_sentence(&event, &text);
    assert_memory_equal(text.data, "policy change refused: a bcxx", 29);
    assert_non_null(strstr(text.data, "xx…; the previous policies stay in force"));
    assert_in_range(text.len, 500, 600);
    assert_null(strchr(text.data, '\033'));
}

TEST(a_sentence_is_never_empty)
{
    struct journal_event event = {
        .type = JOURNAL_VERIFICATION_STARTED,
        .verification_started = {.condition = "\033[2J"},
    };
    auto_buf struct buf text = {0};
    event_sentence(&event, &text);
    assert_string_equal(text.data, "verifying a condition");
}

TEST(how_many_messages_were_dropped_is_reckoned_for_old_journals)
{
    struct event_history_trimmed event = {.window = 30, .messages_before = 40, .dropped = 18};
    assert_int_equal(event_dropped_messages(&event), 18);
    event.dropped = 0;
    assert_int_equal(event_dropped_messages(&event), 10);
    event.messages_before = 30;
    assert_int_equal(event_dropped_messages(&event), 0);
    event = (struct event_history_trimmed){.window = -INT64_MAX, .messages_before = 40};
    assert_int_equal(event_dropped_messages(&event), 0);
}
