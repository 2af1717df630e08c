// SPDX-License-Identifier: Apache-2.0
/* Records of coding agents: rows, their JSON, and command lines. */
#include "support/test.h"
#include "worker/coding/record.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <string.h>

static void expect_command(const struct coding_record *record, const struct coding_words *words,
                           const char *expected)
{
    struct buf line = {0};
    char **argv = coding_command(record, words);
    for (size_t i = 0; argv[i] != NULL; i++) {
        buf_printf(&line, "%s%s", i > 0 ? " " : "", argv[i]);
    }
    assert_string_equal(buf_string(&line), expected);
    memory_free_list(argv);
    buf_fini(&line);
}

TEST(a_new_session_of_claude_has_the_chosen_id_and_its_own_permissions)
{
    struct coding_record record;
    assert_true(coding_record_find("claude", &record));
    struct coding_words words = {.session = "S"};
    expect_command(&record, &words,
                   "claude -p --output-format stream-json --verbose --permission-mode acceptEdits "
                   "--session-id S");
    coding_record_fini(&record);
}

TEST(in_a_sandbox_codex_asks_nobody_and_resumes_by_a_subcommand)
{
    struct coding_record record;
    assert_true(coding_record_find("codex", &record));
    record.permissions = CODING_UNATTENDED;
    record.model = memory_dup_string("o5");
    struct coding_words words = {.session = "S", .is_resumed = true};
    expect_command(&record, &words,
                   "codex exec --json --skip-git-repo-check "
                   "--dangerously-bypass-approvals-and-sandbox --model o5 resume S -");
    words = (struct coding_words){0};
    expect_command(&record, &words,
                   "codex exec --json --skip-git-repo-check "
                   "--dangerously-bypass-approvals-and-sandbox --model o5 -");
    coding_record_fini(&record);
}

TEST(every_row_survives_its_json)
{
    for (size_t i = 0; coding_record_name(i) != NULL; i++) {
        struct coding_record record;
        struct coding_record copy;
        struct buf first = {0};
        struct buf second = {0};
        assert_true(coding_record_find(coding_record_name(i), &record));
        coding_record_encode(&record, &first);
        auto_json struct json_object *root = NULL;
        assert_int_equal(json_parse(first.data, first.len, &root, NULL), 0);
        assert_int_equal(coding_record_decode(root, &copy, NULL, NULL), 0);
        coding_record_encode(&copy, &second);
        assert_string_equal(buf_string(&first), buf_string(&second));
        coding_record_fini(&record);
        coding_record_fini(&copy);
        buf_fini(&first);
        buf_fini(&second);
    }
}

static void expect_refusal(const char *json, const char *member)
{
    struct coding_record record;
    struct rondo_error err = {0};
    const char *found = NULL;
    auto_json struct json_object *root = NULL;
    assert_int_equal(json_parse(json, strlen(json), &root, NULL), 0);
    assert_int_equal(coding_record_decode(root, &record, &found, &err), RONDO_ERR_INVALID);
    assert_string_equal(found, member);
    assert_non_null(strstr(err.message, member));
}

#define WHOLE "\"name\":\"x\",\"program\":\"p\",\"arguments\":[]"

TEST(what_a_record_gets_wrong_is_named)
{
    expect_refusal("[]", "record");
    expect_refusal("{\"name\":\"x\",\"program\":\"p\"}", "record");
    expect_refusal("{" WHOLE ",\"keys\":\"A\"}", "keys");
    expect_refusal("{" WHOLE ",\"keys\":[1]}", "keys");
    expect_refusal("{" WHOLE ",\"format\":\"xml\"}", "format");
    expect_refusal("{" WHOLE ",\"prompt\":\"mail\"}", "prompt");
    expect_refusal("{" WHOLE ",\"exit_codes\":{\"256\":\"auth\"}}", "exit_codes");
    expect_refusal("{" WHOLE ",\"exit_codes\":{\"1\":\"sad\"}}", "exit_codes");
    expect_refusal("{" WHOLE ",\"colour\":\"red\"}", "colour");
}
