// SPDX-License-Identifier: Apache-2.0
/* Attacks on the chain of a real store, by somebody who can write its database. */
#include "handoff/storage/chain_file.h"
#include "handoff/view/reveal.h"

#include "base/limits.h"
#include "os/file_folder.h"
#include "store/support.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN    (1800000000 * NS_PER_S)
#define DAY      (24 * 3600 * NS_PER_S)
#define REQUESTS 4

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";

struct chain_world {
    struct test_place *place;
    struct store *store;
    struct audit_keys keys;
    struct signed_head first; /* of the first half */
};

/** A request that a person decides: three entries. */
static void add_request(struct chain_world *world, unsigned number)
{
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    struct test_id id = test_id(number);
    struct handoff_result result;
    struct handoff_request request = {.request_id = id.text,
                                      .agent_id = "agent",
                                      .lane_id = "lane",
                                      .action_digest = action,
                                      .body_digest = action,
                                      .risk = HANDOFF_MEDIUM,
                                      .priority = HANDOFF_MEDIUM};
    struct handoff_command command = {
        .kind = HANDOFF_ROUTE, .actor = {.id = "system:router"}, .desk = "operators"};
    struct handoff_note note = {.role = "operator", .details = "{\"comment\":\"fine\"}"};
    assert_int_equal(handoff_submit(&handoffs, &request, "{}", BEGIN, &result, NULL), 0);
    assert_int_equal(handoff_act(&handoffs, id.text, &command, NULL, BEGIN, &result, NULL), 0);
    command = (struct handoff_command){
        .kind = HANDOFF_APPROVE,
        .actor = {.id = "user:ann", .is_assignee = true, .may_decide = true},
        .revision = 1,
        .action_digest = action,
    };
    assert_int_equal(handoff_act(&handoffs, id.text, &command, &note, BEGIN, &result, NULL), 0);
    assert_int_equal(result.outcome, HANDOFF_DONE);
}

static int set_up(void **state)
{
    struct chain_world *world = calloc(1, sizeof(*world));
    assert_int_equal(test_place_make((void **)&world->place), 0);
    setenv("XDG_STATE_HOME", world->place->folder, 1);
    world->store = test_place_open(world->place);
    for (unsigned i = 0; i < REQUESTS / 2; i++) {
        add_request(world, i + 1);
    }
    assert_int_equal(audit_chain_sign(world->store, BEGIN, &world->first, NULL), 0);
    for (unsigned i = REQUESTS / 2; i < REQUESTS; i++) {
        add_request(world, i + 1);
    }
    assert_int_equal(audit_keys_load(&world->keys, NULL), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct chain_world *world = *state;
    char state_folder[256];
    store_close(world->store);
    snprintf(state_folder, sizeof(state_folder), "%s/rondo", world->place->folder);
    assert_int_equal(file_remove_tree(state_folder, NULL), 0);
    assert_int_equal(test_place_remove((void **)&world->place), 0);
    free(world);
    return 0;
}

#define TEST_OF_CHAIN(name) TEST_WITH(name, set_up, tear_down)

/** Change the database behind the back of Rondo. */
static void attack(const struct chain_world *world, const char *sql)
{
    sqlite3 *database = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(world->place->path, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
    assert_true(sqlite3_changes(database) > 0);
    sqlite3_close(database);
}

static void expect_valid(const struct chain_world *world, const struct signed_head *kept)
{
    struct audit_report report;
    struct rondo_error err = {0};
    if (audit_chain_verify(world->store, &world->keys, kept, &report, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(report.size, 3 * REQUESTS);
}

/** @param words of the message */
static void expect_broken(const struct chain_world *world, const struct signed_head *kept,
                          const char *words)
{
    struct audit_report report;
    struct rondo_error err = {0};
    assert_int_equal(audit_chain_verify(world->store, &world->keys, kept, &report, &err),
                     RONDO_ERR_CORRUPT);
    if (strstr(err.message, words) == NULL) {
        fail_msg("expected \"%s\" in: %s", words, err.message);
    }
}

#define ENTRY(number) "collection = 'audit' AND key = '000000000000000000" number "'"

TEST_OF_CHAIN(a_chain_in_order_is_valid_with_and_without_a_head_that_was_kept)
{
    struct chain_world *world = *state;
    expect_valid(world, NULL);
    expect_valid(world, &world->first);
}

TEST_OF_CHAIN(an_edited_entry_is_noticed)
{
    struct chain_world *world = *state;
    attack(world, "UPDATE documents SET data = replace(data, 'user:ann', 'user:ben') "
                  "WHERE " ENTRY("09"));
    expect_broken(world, NULL, "entry 9 of the audit chain was changed");
}

TEST_OF_CHAIN(a_deleted_entry_is_noticed)
{
    struct chain_world *world = *state;
    attack(world, "DELETE FROM documents WHERE " ENTRY("05"));
    expect_broken(world, NULL, "entry 5 of the audit chain is missing or was moved");
}

TEST_OF_CHAIN(swapped_entries_are_noticed)
{
    struct chain_world *world = *state;
    attack(world,
           "UPDATE documents SET key = 'x' WHERE " ENTRY(
               "05") "; UPDATE documents SET key = "
                     "'00000000000000000005' WHERE " ENTRY("06") "; UPDATE documents SET key "
                                                                 "= '00000000000000000006' "
                                                                 "WHERE collection = 'audit' "
                                                                 "AND key = 'x'");
    expect_broken(world, NULL, "entry 5 of the audit chain is missing or was moved");
}

TEST_OF_CHAIN(entries_cut_off_at_the_end_are_noticed)
{
    struct chain_world *world = *state;
    attack(world, "DELETE FROM documents WHERE collection = 'audit' AND "
                  "key > '00000000000000000010'");
    expect_broken(world, NULL, "was cut off: it ends at entry 10; its head says 12");
}

/** The head of the store is put back, too: to a state that was right once. */
static void cut_to_first(struct chain_world *world)
{
    attack(world, "DELETE FROM documents WHERE collection = 'audit' AND "
                  "key > '00000000000000000005'");
    attack(world, "DELETE FROM documents WHERE collection = 'audit-head'");
}

TEST_OF_CHAIN(a_chain_cut_off_with_its_head_is_noticed_by_the_signed_heads)
{
    struct chain_world *world = *state;
    cut_to_first(world);
    expect_broken(world, NULL, "was cut off");
}

TEST_OF_CHAIN(a_chain_cut_off_with_all_its_heads_is_noticed_by_a_head_kept_elsewhere)
{
    struct chain_world *world = *state;
    struct audit_report report;
    cut_to_first(world);
    attack(world, "DELETE FROM documents WHERE collection = 'audit-signed-head'");
    assert_int_equal(audit_chain_verify(world->store, &world->keys, NULL, &report, NULL), 0);
    expect_broken(world, &world->first,
                  "was cut off: it ends at entry 5, and a head was signed "
                  "at entry 6");
}

/** Build another chain, consistent in itself, in place of the old one. */
static void rewrite(struct chain_world *world)
{
    attack(world, "DELETE FROM documents WHERE collection <> 'audit-signed-head'");
    for (unsigned i = 0; i < REQUESTS; i++) {
        add_request(world, i + 50);
    }
}

TEST_OF_CHAIN(a_chain_that_was_made_anew_is_noticed_and_never_signed)
{
    struct chain_world *world = *state;
    struct signed_head head;
    struct rondo_error err = {0};
    rewrite(world);
    expect_broken(world, NULL, "are not those of which the head was signed");
    /* The entries after the newest head do not follow it. */
    assert_int_equal(audit_chain_sign(world->store, BEGIN, &head, &err), RONDO_ERR_CORRUPT);
    attack(world, "DELETE FROM documents WHERE collection = 'audit-signed-head'");
    expect_broken(world, &world->first, "are not those of which the head was signed");
}

TEST_OF_CHAIN(a_forged_head_is_noticed)
{
    struct chain_world *world = *state;
    attack(world, "UPDATE documents SET data = replace(data, '\"tree_size\":6', '\"tree_size\":5') "
                  "WHERE collection = 'audit-signed-head'");
    expect_broken(world, NULL, "its signature does not match");
}

TEST_OF_CHAIN(a_head_signed_with_the_key_of_an_attacker_is_not_trusted)
{
    struct chain_world *world = *state;
    unsigned char secret[ED25519_SECRET_SIZE] = {1, 2, 3};
    struct audit_head empty = {0};
    struct signed_head forged;
    signed_head_make(&empty, BEGIN, secret, &forged);
    expect_broken(world, &forged, "which is not one of yours");
}

TEST_OF_CHAIN(a_former_key_is_trusted_after_a_rotation)
{
    struct chain_world *world = *state;
    struct signed_head head;
    assert_int_equal(audit_keys_rotate(NULL), 0);
    assert_int_equal(audit_chain_sign(world->store, BEGIN, &head, NULL), 0);
    assert_int_equal(audit_keys_load(&world->keys, NULL), 0);
    assert_int_equal(world->keys.count, 2);
    expect_valid(world, &world->first);
    expect_valid(world, &head);
}

TEST_OF_CHAIN(what_was_tampered_with_since_the_newest_head_is_not_signed)
{
    struct chain_world *world = *state;
    struct signed_head head;
    struct rondo_error err = {0};
    attack(world, "UPDATE documents SET data = replace(data, 'user:ann', 'user:ben') "
                  "WHERE " ENTRY("12"));
    assert_int_equal(audit_chain_sign(world->store, BEGIN, &head, &err), RONDO_ERR_CORRUPT);
}

TEST_OF_CHAIN(a_cut_off_chain_is_not_signed)
{
    struct chain_world *world = *state;
    struct signed_head head;
    struct rondo_error err = {0};
    cut_to_first(world);
    assert_int_equal(audit_chain_sign(world->store, BEGIN, &head, &err), RONDO_ERR_CORRUPT);
}

TEST_OF_CHAIN(a_head_is_signed_a_day_after_the_last_one_if_there_is_something_new)
{
    struct chain_world *world = *state;
    bool is_signed = true;
    int64_t now_ns = clock_now(clock_system());
    assert_int_equal(audit_chain_sign_due(world->store, now_ns, &is_signed, NULL), 0);
    assert_false(is_signed);
    assert_int_equal(audit_chain_sign_due(world->store, now_ns + DAY, &is_signed, NULL), 0);
    assert_true(is_signed);
    assert_int_equal(audit_chain_sign_due(world->store, now_ns + 3 * DAY, &is_signed, NULL), 0);
    assert_false(is_signed);
}

TEST_OF_CHAIN(a_head_is_signed_after_so_many_entries)
{
    struct chain_world *world = *state;
    bool is_signed = false;
    unsigned number = REQUESTS;
    int64_t now_ns = clock_now(clock_system());
    for (; 3 * (number - REQUESTS / 2) < LIMIT_AUDIT_HEAD_ENTRIES - 3; number++) {
        add_request(world, number + 1);
    }
    assert_int_equal(audit_chain_sign_due(world->store, now_ns, &is_signed, NULL), 0);
    assert_false(is_signed);
    add_request(world, number + 1);
    add_request(world, number + 2);
    assert_int_equal(audit_chain_sign_due(world->store, now_ns, &is_signed, NULL), 0);
    assert_true(is_signed);
}

/* ---- Values that are shown ------------------------------------------------------------------ */

static enum redact_verdict reveal(struct chain_world *world, const char *role, struct buf *ret_json)
{
    static const char *const pointers[] = {"/action/args/password"};
    static const char *const leads[] = {"sec-lead"};
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    struct redact_rule rule = {.pointers = {pointers, 1}, .reveal = {leads, 1}};
    struct redact_view view = {.rules = &rule, .count = 1, .roles = {&role, 1}};
    struct test_id id = test_id(99);
    struct reveal_request request = {
        .request_id = id.text, .pointer = pointers[0], .by = "user:ann", .role = role};
    struct handoff_result result;
    struct handoff_request asked = {.request_id = id.text,
                                    .agent_id = "agent",
                                    .lane_id = "lane",
                                    .action_digest = action,
                                    .body_digest = action};
    enum redact_verdict verdict = REDACT_MISSING;
    assert_int_equal(handoff_submit(&handoffs, &asked,
                                    "{\"action\":{\"args\":{\"password\":\"hunter2\"}}}", BEGIN,
                                    &result, NULL),
                     0);
    assert_int_equal(handoff_reveal(&handoffs, &view, &request, BEGIN, &verdict, ret_json, NULL),
                     0);
    return verdict;
}

static bool keep_last(const char *entry, size_t len, void *context)
{
    buf_clear(context);
    buf_append(context, entry, len);
    return true;
}

TEST_OF_CHAIN(a_value_is_revealed_with_an_entry_that_says_to_whom)
{
    struct chain_world *world = *state;
    auto_buf struct buf value = {0};
    auto_buf struct buf entry = {0};
    struct audit_report report;
    assert_int_equal(reveal(world, "sec-lead", &value), REDACT_REVEALED);
    assert_string_equal(buf_string(&value), "\"hunter2\"");
    assert_int_equal(audit_chain_read(world->store, 0, 0, keep_last, &entry, NULL), 0);
    assert_non_null(strstr(buf_string(&entry), "handoff.revealed"));
    assert_non_null(strstr(buf_string(&entry), "user:ann"));
    assert_non_null(strstr(buf_string(&entry), "password"));
    assert_null(strstr(buf_string(&entry), "hunter2"));
    assert_int_equal(audit_chain_verify(world->store, &world->keys, NULL, &report, NULL), 0);
}

TEST_OF_CHAIN(who_may_not_reveal_a_value_is_shown_nothing)
{
    struct chain_world *world = *state;
    auto_buf struct buf value = {0};
    assert_int_equal(reveal(world, "sec-oncall", &value), REDACT_NOT_PERMITTED);
    assert_int_equal(value.len, 0);
}

/* ---- Exported files ------------------------------------------------------------------------- */

static bool append_line(const char *entry, size_t len, void *context)
{
    buf_append(context, entry, len);
    buf_append_string(context, "\n");
    return true;
}

static struct buf export(struct chain_world *world)
{
    struct buf text = {0};
    assert_int_equal(audit_file_export(world->store, BEGIN, NULL, append_line, &text, NULL), 0);
    return text;
}

/** @param chunk bytes that are given at once */
static int verify_text(const struct chain_world *world, const struct buf *text, size_t chunk,
                       const struct signed_head *kept, struct audit_report *ret_report,
                       struct rondo_error *err)
{
    struct audit_file file = {.keys = &world->keys};
    int r = kept == NULL ? 0 : audit_verifier_expect(&file.verifier, kept, &world->keys, err);
    for (size_t at = 0; r == 0 && at < text->len; at += chunk) {
        size_t len = text->len - at < chunk ? text->len - at : chunk;
        r = audit_file_add(&file, text->data + at, len, err);
    }
    r = r < 0 ? r : audit_file_finish(&file, ret_report, err);
    audit_file_fini(&file);
    return r;
}

TEST_OF_CHAIN(an_exported_file_is_verified_without_the_store)
{
    struct chain_world *world = *state;
    auto_buf struct buf text = export(world);
    struct audit_report report;
    for (size_t chunk = 1; chunk < 2000; chunk = chunk * 7 + 1) {
        assert_int_equal(verify_text(world, &text, chunk, &world->first, &report, NULL), 0);
        assert_int_equal(report.size, 3 * REQUESTS);
        assert_int_equal(report.heads, 2);
    }
    text.len--; /* without the last line end */
    assert_int_equal(verify_text(world, &text, 100, NULL, &report, NULL), 0);
}

TEST_OF_CHAIN(what_is_not_whole_is_not_exported)
{
    struct chain_world *world = *state;
    struct signed_head head;
    struct rondo_error err = {0};
    auto_buf struct buf text = {0};
    assert_int_equal(audit_chain_sign(world->store, BEGIN, &head, NULL), 0);
    attack(world, "DELETE FROM documents WHERE collection = 'audit' AND key LIKE '%2'");
    assert_int_equal(audit_file_export(world->store, BEGIN, NULL, append_line, &text, &err),
                     RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "cut off"));
}

TEST_OF_CHAIN(every_changed_byte_of_an_exported_file_is_noticed)
{
    struct chain_world *world = *state;
    auto_buf struct buf text = export(world);
    struct audit_report report;
    struct rondo_error err = {0};
    for (size_t i = 0; i + 1 < text.len; i += 3) {
        text.data[i] ^= 1;
        assert_int_equal(verify_text(world, &text, text.len, NULL, &report, &err),
                         RONDO_ERR_CORRUPT);
        text.data[i] ^= 1;
    }
}

TEST_OF_CHAIN(a_file_that_was_cut_off_anywhere_is_noticed)
{
    struct chain_world *world = *state;
    auto_buf struct buf text = export(world);
    struct audit_report report;
    struct rondo_error err = {0};
    size_t whole = text.len;
    for (text.len = 0; text.len + 1 < whole; text.len += 5) {
        assert_int_equal(verify_text(world, &text, whole, NULL, &report, &err), RONDO_ERR_CORRUPT);
        assert_int_equal(verify_text(world, &text, whole, &world->first, &report, &err) == 0,
                         report.size >= world->first.size &&
                             (text.len == 0 || text.data[text.len - 1] == '\n'));
    }
}

TEST_OF_CHAIN(nothing_may_follow_the_head_of_a_file)
{
    struct chain_world *world = *state;
    auto_buf struct buf text = export(world);
    struct audit_report report;
    struct rondo_error err = {0};
    buf_append_string(&text, "{}\n");
    assert_int_equal(verify_text(world, &text, 100, NULL, &report, &err), RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "comes after the signed head"));
}

TEST_OF_CHAIN(a_line_without_end_is_bounded)
{
    struct chain_world *world = *state;
    struct audit_file file = {.keys = &world->keys};
    char *line = calloc(1, LIMIT_AUDIT_LINE_BYTES);
    struct rondo_error err = {0};
    memset(line, ' ', LIMIT_AUDIT_LINE_BYTES);
    assert_int_equal(audit_file_add(&file, line, LIMIT_AUDIT_LINE_BYTES, &err), 0);
    assert_int_equal(audit_file_add(&file, line, 1, &err), RONDO_ERR_CORRUPT);
    audit_file_fini(&file);
    free(line);
}

/** Hides who has made the first request. */
static void hide_first(void *context, const char *entry, size_t len, struct buf *ret_line)
{
    static const char name[] = "\"actor\":\"";
    const char *actor = memmem(entry, len, name, strlen(name));
    (void)context;
    if (memmem(entry, len, "\"seq\":1,", 8) == NULL || actor == NULL) {
        buf_append(ret_line, entry, len);
        return;
    }
    size_t before = (size_t)(actor - entry);
    buf_append(ret_line, entry, before);
    buf_append_string(ret_line, "\"redacted\":[\"/actor\"],\"actor\":\"?");
    buf_append(ret_line, actor + strlen(name), len - before - strlen(name));
}

/** Values may be hidden in an exported file; nothing may be exchanged under that excuse. */
TEST_OF_CHAIN(an_entry_with_hidden_values_is_as_it_was_exported)
{
    struct chain_world *world = *state;
    struct audit_report report;
    struct rondo_error err = {0};
    auto_buf struct buf text = {0};
    assert_int_equal(audit_file_export(world->store, BEGIN, hide_first, append_line, &text, NULL),
                     0);
    if (verify_text(world, &text, 4096, NULL, &report, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(report.redacted, 1);
    size_t first = strcspn(text.data, "\n");
    for (size_t i = 0; i < first; i++) {
        text.data[i] ^= 1;
        assert_int_equal(verify_text(world, &text, 4096, NULL, &report, &err), RONDO_ERR_CORRUPT);
        text.data[i] ^= 1;
    }
    char *end = strstr(text.data, ",\"hidden\":");
    assert_non_null(end);
    memcpy(end, ",\"hiddem\":", strlen(",\"hidden\":"));
    assert_int_equal(verify_text(world, &text, 4096, NULL, &report, &err), RONDO_ERR_CORRUPT);
    text.len = (size_t)(strstr(text.data, "{\"signed_head\":") - text.data);
    assert_int_equal(verify_text(world, &text, 4096, &world->first, &report, &err),
                     RONDO_ERR_CORRUPT);
}
