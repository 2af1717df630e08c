// SPDX-License-Identifier: Apache-2.0
/* Limits of a PRD's run, at each and one past it; that of attempts is in test_spec.c. */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "prd/progress.h"
#include "support/test.h"
#include "work/attempt_internal.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* ---- LIMIT_WORK_FILES ----------------------------------------------------------------------- */

TEST(a_commit_names_so_many_files_and_counts_the_others)
{
    char *none[] = {NULL};
    struct git_change items[LIMIT_WORK_FILES + 1];
    for (size_t i = 0; i < COUNT(items); i++) {
        items[i] = (struct git_change){.kind = GIT_ADDED, .path = (char *)"x"};
    }
    const struct work_spec work = {0};
    struct attempt attempt = {.work = &work};
    for (size_t count = LIMIT_WORK_FILES; count <= LIMIT_WORK_FILES + 1; count++) {
        const struct git_changes changes = {
            .tree = "t", .items = items, .count = count, .excluded = none, .nested = none};
        assert_true(attempt_take_changes(&attempt, &changes));
        auto_json struct json_object *files = NULL;
        assert_int_equal(json_parse(attempt.files, strlen(attempt.files), &files, NULL), 0);
        assert_int_equal(json_length(files), LIMIT_WORK_FILES);
        assert_int_equal(attempt.file_count, count);
    }
    free(attempt.files);
}

/* ---- LIMIT_WORK_OUTPUT_BYTES ---------------------------------------------------------------- */

/** What is kept of so many bytes: a head, and then the character until the end. free() it */
static char *kept_of(const char *head, size_t len, const char *character)
{
    struct attempt attempt = {0};
    auto_buf struct buf text = {0};
    buf_append_string(&text, head);
    while (text.len + strlen(character) <= len) {
        buf_append_string(&text, character);
    }
    assert_int_equal(text.len, len);
    attempt_keep_output(&attempt, buf_string(&text), text.len);
    return attempt.output;
}

TEST(the_next_attempt_reads_an_output_of_the_limit_whole_and_the_end_of_a_longer_one)
{
    auto_free char *whole = kept_of("1", LIMIT_WORK_OUTPUT_BYTES, "x");
    auto_free char *end = kept_of("1", LIMIT_WORK_OUTPUT_BYTES + 1, "x");
    assert_int_equal(strlen(whole), LIMIT_WORK_OUTPUT_BYTES);
    assert_int_equal(whole[0], '1');
    assert_int_equal(strlen(end), LIMIT_WORK_OUTPUT_BYTES);
    assert_int_equal(end[0], 'x');
}

TEST(an_output_is_cut_between_characters)
{
    auto_free char *end = kept_of("", LIMIT_WORK_OUTPUT_BYTES + 1, "\xe2\x82\xac");
    assert_int_equal(strlen(end), LIMIT_WORK_OUTPUT_BYTES - 2);
    assert_int_equal(strncmp(end, "\xe2\x82\xac", 3), 0);
}

/* ---- LIMIT_WORK_PROGRESS_ENTRIES ------------------------------------------------------------ */

/** Entries of a log that a prompt shows, and whether the first of the log is among them. */
static size_t count_shown(size_t entries, bool *ret_has_first)
{
    size_t count = 0;
    auto_buf struct buf log = {0};
    auto_buf struct buf shown = {0};
    for (size_t i = 0; i < entries; i++) {
        buf_printf(&log, "## Task US-%zu: t\nlearned\n---\n", i);
    }
    prd_progress_excerpt(buf_string(&log), log.len, LIMIT_WORK_PROGRESS_ENTRIES,
                         LIMIT_WORK_PROGRESS_BYTES, &shown);
    for (const char *at = buf_string(&shown); (at = strstr(at, "## Task")) != NULL; at++) {
        count++;
    }
    *ret_has_first = strstr(buf_string(&shown), "US-0") != NULL;
    return count;
}

TEST(a_prompt_shows_so_many_entries_of_the_progress_log_the_last_ones)
{
    bool has_first;
    assert_int_equal(count_shown(LIMIT_WORK_PROGRESS_ENTRIES, &has_first),
                     LIMIT_WORK_PROGRESS_ENTRIES);
    assert_true(has_first);
    assert_int_equal(count_shown(LIMIT_WORK_PROGRESS_ENTRIES + 1, &has_first),
                     LIMIT_WORK_PROGRESS_ENTRIES);
    assert_false(has_first);
}
