// SPDX-License-Identifier: Apache-2.0
#include "issues/item.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define REPOSITORY "github.com/acme/shop"
#define KEY        REPOSITORY "#12"

/** A document as format 1 has it, for ever. */
static const char golden[] =
    "{\"format\":1,\"repository\":\"github.com/acme/shop\",\"number\":12,\"title\":\"Fix\","
    "\"url\":\"https://x/12\",\"owner\":\"me\",\"state\":\"in-review\",\"reason\":\"edited\","
    "\"message\":\"so\",\"step\":\"push\",\"crashed_step\":\"pull\",\"crashes\":1,"
    "\"nonce\":\"n\",\"claim_id\":\"c0ffee\",\"renewed_ns\":3,\"claimed_pull\":4,"
    "\"is_released\":true,\"claimed_ns\":5,\"next_ns\":6,\"retries\":7,\"attempts\":8,"
    "\"active_ns\":9,\"tokens\":-1,\"cost_micro\":10,\"run_id\":\"r\",\"counted_ns\":17,\"content_"
    "digest\":\"d\","
    "\"branch\":\"b\",\"base_branch\":\"main\",\"base_id\":\"aa\",\"commit\":\"bb\","
    "\"is_pushed\":true,\"pull\":11,\"pull_url\":\"https://x/11\",\"review_ns\":12,"
    "\"follow_ups\":13,\"comment_id\":14,\"read_comment_id\":15,\"mirrored\":\"blocked\","
    "\"mirrored_digest\":\"m\",\"updated_ns\":16,"
    "\"notes\":[{\"time_ns\":1,\"state\":\"assigned\",\"text\":\"claimed\"}]}";

static struct item new_item(int64_t number)
{
    return (struct item){
        .key = item_key(REPOSITORY, number),
        .repository = memory_dup_string(REPOSITORY),
        .number = number,
        .mirrored = ITEM_STATE_COUNT,
    };
}

static int decode(const char *json, struct item *ret_item, struct rondo_error *err)
{
    return item_decode(KEY, json, strlen(json), ret_item, err);
}

TEST(a_document_of_format_1_is_read_and_written_as_it_was)
{
    struct item item = {0};
    auto_buf struct buf json = {0};
    struct rondo_error err = {0};
    int r = decode(golden, &item, &err);
    if (r != 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(item.state, ITEM_IN_REVIEW);
    assert_int_equal(item.mirrored, ITEM_BLOCKED);
    assert_int_equal(item.crashed_step, ITEM_STEP_PULL);
    assert_int_equal(item.tokens, COST_UNKNOWN);
    assert_int_equal(item.pull, 11);
    item_encode(&item, &json);
    assert_string_equal(buf_string(&json), golden);
    item_fini(&item);
}

TEST(members_of_later_versions_are_kept_and_left_out_where_there_are_none)
{
    struct item item = new_item(12);
    struct item read = {0};
    auto_buf struct buf json = {0};
    item_encode(&item, &json);
    assert_null(strstr(buf_string(&json), "released_until_ns"));
    item.released_until_ns = 99;
    buf_clear(&json);
    item_encode(&item, &json);
    assert_int_equal(decode(buf_string(&json), &read, NULL), 0);
    assert_int_equal(read.released_until_ns, 99);
    item_fini(&item);
    item_fini(&read);
}

TEST(the_use_of_a_day_is_kept_and_the_oldest_of_too_many_is_added_up)
{
    struct item item = new_item(12);
    struct item read = {0};
    auto_buf struct buf json = {0};
    for (int64_t i = 1; i <= LIMIT_ITEM_USES; i++) {
        item_use(&item, i, i, 1);
    }
    assert_int_equal(item.use_count, LIMIT_ITEM_USES);
    assert_int_equal(item.uses[0].tokens, 1);
    item_use(&item, LIMIT_ITEM_USES + 1, 7, COST_UNKNOWN);
    assert_int_equal(item.use_count, LIMIT_ITEM_USES);
    assert_int_equal(item.uses[0].time_ns, 2);
    assert_int_equal(item.uses[0].tokens, 1 + 2);
    assert_int_equal(item.uses[0].cost_micro, 2);
    item_encode(&item, &json);
    assert_int_equal(decode(buf_string(&json), &read, NULL), 0);
    assert_int_equal(read.use_count, LIMIT_ITEM_USES);
    assert_int_equal(read.uses[LIMIT_ITEM_USES - 1].tokens, 7);
    assert_int_equal(read.uses[LIMIT_ITEM_USES - 1].cost_micro, COST_UNKNOWN);
    item_use(&item, ITEM_DAY_NS + 4, 8, 0); /* The first ones are older than a day. */
    assert_int_equal(item.uses[0].time_ns, 4);
    assert_int_equal(item.uses[item.use_count - 1].tokens, 8);
    item_fini(&item);
    item_fini(&read);
}

TEST(more_uses_than_are_written_are_refused)
{
    struct item item = new_item(12);
    auto_buf struct buf json = {0};
    auto_buf struct buf more = {0};
    item_use(&item, 1, 1, 1);
    item_encode(&item, &json);
    const char *one = "{\"time_ns\":1,\"tokens\":1,\"cost_micro\":1}";
    const char *place = strstr(buf_string(&json), one);
    assert_non_null(place);
    buf_append(&more, json.data, (size_t)(place - json.data));
    for (int i = 0; i < LIMIT_ITEM_USES; i++) {
        buf_printf(&more, "%s,", one);
    }
    buf_append_string(&more, place);
    struct item read = {0};
    assert_int_equal(decode(buf_string(&more), &read, NULL), RONDO_ERR_CORRUPT);
    item_fini(&item);
}

TEST(an_item_without_optional_members_keeps_what_it_is)
{
    struct item item = new_item(12);
    struct item read = {0};
    auto_buf struct buf json = {0};
    item_encode(&item, &json);
    assert_int_equal(decode(buf_string(&json), &read, NULL), 0);
    assert_int_equal(read.mirrored, ITEM_STATE_COUNT);
    assert_int_equal(read.reason, ITEM_REASON_NONE);
    assert_null(read.branch);
    assert_null(read.message);
    item_fini(&item);
    item_fini(&read);
}

/** The golden document with one text for another. */
static void assert_refused(const char *part, const char *other, const char *reason)
{
    auto_buf struct buf text = {0};
    struct item item = {.version = 99};
    struct rondo_error err = {0};
    const char *place = strstr(golden, part);
    assert_non_null(place);
    buf_append(&text, golden, (size_t)(place - golden));
    buf_append_string(&text, other);
    buf_append_string(&text, place + strlen(part));
    int r = decode(buf_string(&text), &item, &err);
    if (r >= 0 || item.version != 99 || strstr(err.message, reason) == NULL || err.code != r) {
        fail_msg("%s: %d %s", buf_string(&text), r, err.message);
    }
}

TEST(what_is_unknown_or_damaged_is_refused_with_what_it_is)
{
    assert_refused("in-review", "sleeping", "state cannot be \"sleeping\"");
    assert_refused("edited", "whim", "reason cannot be \"whim\"");
    assert_refused("\"push\"", "\"shove\"", "step cannot be \"shove\"");
    assert_refused("\"blocked\"", "\"gone\"", "mirrored cannot be \"gone\"");
    assert_refused("\"assigned\"", "\"gone\"", "note with state 'gone'");
    assert_refused("\"format\":1", "\"format\":2", "of a newer Rondo");
    assert_refused("\"format\":1,", "", "no format");
    assert_refused("\"format\":1", "\"format\":1,\"format\":1", "work item");
    assert_refused("\"number\":12", "\"number\":0", "number cannot be 0");
    assert_refused("\"number\":12", "\"number\":13", "number 13");
    assert_refused("\"number\":12", "\"number\":\"12\"", "number cannot be");
    assert_refused("\"number\":12,", "", "number is missing");
    assert_refused("\"state\":\"in-review\",", "", "state is missing");
    assert_refused("\"attempts\":8", "\"attempts\":-1", "attempts cannot be -1");
    assert_refused("\"cost_micro\":10", "\"cost_micro\":-2", "cost_micro cannot be -2");
    assert_refused("\"crashes\":1", "\"crashes\":-1", "crashes cannot be -1");
    assert_refused("\"is_pushed\":true", "\"is_pushed\":1", "is_pushed cannot be 1");
    assert_refused("{\"format\"", "[{\"format\"", "cannot be read");
}

TEST(a_newer_format_has_a_code_of_its_own)
{
    struct item item = {0};
    assert_int_equal(decode("{\"format\":2}", &item, NULL), RONDO_ERR_VERSION);
    assert_int_equal(decode("{\"format\":0}", &item, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(decode("", &item, NULL), RONDO_ERR_CORRUPT);
}

TEST(texts_up_to_their_limit_are_kept_and_longer_ones_cut_at_a_character)
{
    char title[LIMIT_ITEM_TITLE_BYTES + 10];
    struct item item = new_item(12);
    struct item read = {0};
    auto_buf struct buf json = {0};
    memset(title, 'x', sizeof(title));
    title[LIMIT_ITEM_TITLE_BYTES] = '\0';
    item.title = memory_dup_string(title);
    memcpy(title + LIMIT_ITEM_TITLE_BYTES - 1, "\xc3\xa9", 3);
    item.message = memory_dup_string("ok");
    item.url = memory_dup_string(title);
    item_encode(&item, &json);
    assert_int_equal(decode(buf_string(&json), &read, NULL), 0);
    assert_int_equal(strlen(read.title), LIMIT_ITEM_TITLE_BYTES);
    item_fini(&read);
    free(item.title);
    item.title = memory_dup_string(title);
    buf_clear(&json);
    item_encode(&item, &json);
    assert_int_equal(decode(buf_string(&json), &read, NULL), 0);
    assert_int_equal(strlen(read.title), LIMIT_ITEM_TITLE_BYTES - 1);
    item_fini(&item);
    item_fini(&read);
}

TEST(names_are_those_of_the_labels_and_every_one_is_found_again)
{
    for (enum item_state i = ITEM_ASSIGNED; i < ITEM_STATE_COUNT; i++) {
        enum item_state found = ITEM_STATE_COUNT;
        assert_true(item_state_from_name(item_state_name(i), &found));
        assert_int_equal(found, i);
    }
    enum item_state kept = ITEM_DONE;
    assert_false(item_state_from_name("Done", &kept));
    assert_int_equal(kept, ITEM_DONE);
}

TEST(every_reason_and_step_is_read_as_it_was_written)
{
    for (unsigned i = 0; i < ITEM_REASON_COUNT; i++) {
        struct item item = new_item(12);
        struct item read = {0};
        auto_buf struct buf json = {0};
        item.reason = (enum item_reason)i;
        item.step = (enum item_step)(i % ITEM_STEP_COUNT);
        item_encode(&item, &json);
        assert_int_equal(decode(buf_string(&json), &read, NULL), 0);
        assert_int_equal(read.reason, i);
        assert_int_equal(read.step, i % ITEM_STEP_COUNT);
        item_fini(&item);
        item_fini(&read);
    }
}

TEST(a_state_is_over_when_nothing_more_is_to_be_done_by_itself)
{
    static const bool is_over[ITEM_STATE_COUNT] = {
        [ITEM_BLOCKED] = true, [ITEM_NEEDS_HUMAN] = true, [ITEM_CANCELLED] = true,
        [ITEM_FENCED] = true,  [ITEM_DONE] = true,
    };
    for (enum item_state i = ITEM_ASSIGNED; i < ITEM_STATE_COUNT; i++) {
        assert_int_equal(item_state_is_over(i), is_over[i]);
    }
}

/* ---- Notes ---------------------------------------------------------------------------------- */

TEST(the_oldest_note_goes_when_there_are_too_many)
{
    struct item item = new_item(12);
    for (int i = 0; i < LIMIT_ITEM_HISTORY; i++) {
        item_note(&item, i, "note %d", i);
    }
    assert_int_equal(item.note_count, LIMIT_ITEM_HISTORY);
    assert_string_equal(item.notes[0].text, "note 0");
    item.state = ITEM_BLOCKED;
    item_note(&item, 7, "last");
    assert_int_equal(item.note_count, LIMIT_ITEM_HISTORY);
    assert_string_equal(item.notes[0].text, "note 1");
    assert_string_equal(item.notes[LIMIT_ITEM_HISTORY - 1].text, "last");
    assert_int_equal(item.notes[LIMIT_ITEM_HISTORY - 1].state, ITEM_BLOCKED);
    item_fini(&item);
}

TEST(a_note_is_one_plain_line_cut_at_its_limit)
{
    struct item item = new_item(12);
    char text[LIMIT_ITEM_NOTE_BYTES + 2];
    memset(text, 'x', sizeof(text));
    text[LIMIT_ITEM_NOTE_BYTES] = '\0';
    item_note(&item, 1, "%s", text);
    text[LIMIT_ITEM_NOTE_BYTES] = 'x';
    text[LIMIT_ITEM_NOTE_BYTES + 1] = '\0';
    item_note(&item, 1, "%s", text);
    item_note(&item, 1,
              "a\nb\033[31m\xe2\x80\xae"
              "c");
    assert_int_equal(strlen(item.notes[0].text), LIMIT_ITEM_NOTE_BYTES);
    assert_int_equal(strlen(item.notes[1].text), LIMIT_ITEM_NOTE_BYTES);
    assert_string_equal(item.notes[1].text + LIMIT_ITEM_NOTE_BYTES - 4, "x...");
    assert_string_equal(item.notes[2].text, "a bc");
    item_fini(&item);
}

TEST(a_text_is_cut_between_characters)
{
    auto_buf struct buf text = {0};
    item_clean("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 6, &text);
    assert_string_equal(buf_string(&text), "\xc3\xa9...");
}

TEST(the_largest_item_fits_a_document)
{
    struct item item = new_item(12);
    auto_buf struct buf json = {0};
    char text[3 * LIMIT_ITEM_MESSAGE_BYTES];
    memset(text, '"', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    item.title = memory_dup_string(text);
    item.message = memory_dup_string(text);
    item.url = memory_dup_string(text);
    item.pull_url = memory_dup_string(text);
    for (int i = 0; i < LIMIT_ITEM_HISTORY; i++) {
        item_note(&item, i, "%s", text);
    }
    item_encode(&item, &json);
    assert_true(json.len < LIMIT_DOCUMENT_BYTES);
    item_fini(&item);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

TEST(a_key_of_the_longest_path_fits_the_store_and_is_its_own)
{
    char path[2000];
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    char *long_key = item_key(path, INT64_MAX);
    path[sizeof(path) - 2] = 'y';
    char *other_key = item_key(path, INT64_MAX);
    assert_true(strlen(long_key) <= STORE_KEY_LEN);
    assert_string_not_equal(long_key, other_key);
    free(long_key);
    free(other_key);
    char *key = item_key(REPOSITORY, 12);
    assert_string_equal(key, KEY);
    free(key);
}

/* ---- The store ------------------------------------------------------------------------------ */

TEST(an_item_is_saved_and_loaded_with_its_version)
{
    struct store *store = store_memory_new(NULL);
    struct item item = new_item(12);
    struct item read = {0};
    assert_int_equal(item_load(store, KEY, &read, NULL), 0);
    assert_int_equal(item_save(store, &item, NULL), 0);
    assert_int_equal(item.version, 1);
    item.attempts = 2;
    assert_int_equal(item_save(store, &item, NULL), 0);
    assert_int_equal(item_load(store, KEY, &read, NULL), 1);
    assert_int_equal(read.version, 2);
    assert_int_equal(read.attempts, 2);
    assert_string_equal(read.key, KEY);
    item_fini(&item);
    item_fini(&read);
    store->ops->close(store);
}

TEST(an_item_that_others_changed_is_not_overwritten)
{
    struct store *store = store_memory_new(NULL);
    struct item first = new_item(12);
    struct item second = new_item(12);
    struct rondo_error err = {0};
    second.attempts = 1;
    assert_int_equal(item_save(store, &first, NULL), 0);
    assert_int_equal(item_save(store, &second, &err), RONDO_ERR_STATE);
    assert_int_equal(second.version, 0);
    assert_non_null(strstr(err.message, "changed by others"));
    item_fini(&first);
    item_fini(&second);
    store->ops->close(store);
}

TEST(a_save_whose_answer_was_lost_is_recognised)
{
    struct store *store = store_memory_new(NULL);
    struct item item = new_item(12);
    assert_int_equal(item_save(store, &item, NULL), 0);
    item.version = 0; /* as if the answer had not come */
    assert_int_equal(item_save(store, &item, NULL), 0);
    assert_int_equal(item.version, 1);
    item_fini(&item);
    store->ops->close(store);
}

static void put(struct store *store, const char *key, const char *json)
{
    bool is_applied = false;
    struct store_change change = {.collection = ITEM_COLLECTION,
                                  .key = key,
                                  .data = json,
                                  .data_len = strlen(json),
                                  .if_version = STORE_ANY_VERSION};
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
}

static bool count_item(const struct item *item, void *context)
{
    assert_int_equal(item->version, 1);
    (*(int *)context)++;
    return true;
}

TEST(items_of_one_repository_are_read_and_no_others)
{
    struct store *store = store_memory_new(NULL);
    static const char *const others[] = {"github.com/acme/shop2", "github.com/acme/sho"};
    for (int64_t i = 1; i <= 3; i++) {
        struct item item = new_item(i);
        assert_int_equal(item_save(store, &item, NULL), 0);
        item_fini(&item);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        struct item item = new_item(1);
        free(item.key);
        free(item.repository);
        item.repository = memory_dup_string(others[i]);
        item.key = item_key(others[i], 1);
        assert_int_equal(item_save(store, &item, NULL), 0);
        item_fini(&item);
    }
    int count = 0;
    assert_int_equal(items_read(store, REPOSITORY, count_item, &count, NULL), 0);
    assert_int_equal(count, 3);
    count = 0;
    assert_int_equal(items_read(store, NULL, count_item, &count, NULL), 0);
    assert_int_equal(count, 5);
    store->ops->close(store);
}

TEST(an_item_that_cannot_be_read_hides_no_other_and_is_reported)
{
    struct store *store = store_memory_new(NULL);
    struct rondo_error err = {0};
    struct item item = new_item(5);
    struct item read = {0};
    int count = 0;
    put(store, REPOSITORY "#1", "{}");
    put(store, REPOSITORY "#2", "{\"format\":2}");
    assert_int_equal(item_save(store, &item, NULL), 0);
    assert_int_equal(items_read(store, REPOSITORY, count_item, &count, &err), RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "#1"));
    assert_int_equal(count, 1);
    assert_int_equal(item_load(store, REPOSITORY "#2", &read, &err), RONDO_ERR_VERSION);
    item_fini(&item);
    store->ops->close(store);
}
