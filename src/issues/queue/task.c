// SPDX-License-Identifier: Apache-2.0
/*
 * The tasks of an issue's run. An issue is one task; with plans, its sub-issues, or else the open
 * boxes of the list in its text, are a task each, in their order, on one branch. The text of an
 * issue is only ever a description: a criterion of a PRD may be a command, and strangers give none.
 *
 * all opens: the folder of tasks is the user's, and out of the reach of sandboxed workers.
 */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What a run works on. */
struct queue_plan {
    struct json_writer writer;
    const struct item *item;
    int64_t count;
};

/** @param title of a stranger; it becomes that of the commit, so it closes and calls nothing */
static void add_task(struct queue_plan *plan, const char *id, const char *title, const char *text)
{
    auto_buf struct buf clean = {0};
    auto_free char *copy = memory_dup_string(title);
    struct item part = *plan->item; /* Shares all but the title. */
    part.title = copy;
    item_write_pull_title(&part, &clean);
    json_begin_object(&plan->writer, NULL);
    json_write_string(&plan->writer, "id", id);
    json_write_string(&plan->writer, "title", buf_string(&clean));
    json_write_string(&plan->writer, "description", text);
    json_begin_array(&plan->writer, "acceptanceCriteria");
    json_end_array(&plan->writer);
    json_write_string(&plan->writer, "status", "pending");
    json_write_bool(&plan->writer, "passes", false);
    json_end_object(&plan->writer);
    plan->count++;
}

/* ---- Parts of an issue ---------------------------------------------------------------------- */

/** The text of an open box, "- [ ] text" or "1. [ ] text". @return its length; 0 = it is none */
static size_t find_box(const char *line, size_t len, const char **ret_text)
{
    size_t at = 0;
    while (at < len && (line[at] == ' ' || line[at] == '\t')) {
        at++;
    }
    size_t digits = at + strspn(line + at, "0123456789");
    bool is_numbered = digits > at && digits < len && strchr(".)", line[digits]) != NULL;
    bool is_bullet = at < len && strchr("-*+", line[at]) != NULL;
    at = is_numbered ? digits + 1 : at + (is_bullet ? 1 : 0);
    if ((!is_numbered && !is_bullet) || at + 5 > len || strncmp(line + at, " [ ] ", 5) != 0) {
        return 0;
    }
    *ret_text = line + at + 5;
    return len - at - 5;
}

static bool is_fence(const char *line)
{
    const char *text = line + strspn(line, " ");
    return strncmp(text, "```", 3) == 0 || strncmp(text, "~~~", 3) == 0;
}

/** The open boxes of the issue's own text; those in code are examples. */
static void add_boxes(struct queue_plan *plan, const struct forge_issue *issue, const char *text)
{
    bool is_code = false;
    auto_buf struct buf visible = {0};
    item_append_visible(issue->body, LIMIT_TASK_BODY_BYTES, &visible);
    for (const char *line = buf_string(&visible);
         *line != '\0' && plan->count < LIMIT_ISSUE_PLAN;) {
        size_t len = strcspn(line, "\n");
        const char *box = NULL;
        size_t box_len = find_box(line, len, &box);
        is_code = is_fence(line) ? !is_code : is_code;
        if (box_len > 0 && !is_code) {
            char id[QUEUE_TASK_ID];
            auto_free char *title = memory_dup_bytes(box, box_len);
            auto_buf struct buf part = {0};
            snprintf(id, sizeof(id), "%" PRId64 ".%" PRId64, issue->number, plan->count + 1);
            buf_printf(&part, "Do only this part of the issue, its open box %" PRId64 ".\n\n%s",
                       plan->count + 1, text);
            add_task(plan, id, title, buf_string(&part));
        }
        line += len + (line[len] == '\n' ? 1 : 0);
    }
}

/** Its open sub-issues, if those who wrote them may start work. */
static enum forge_end add_children(struct issue_queue *queue, struct queue_plan *plan)
{
    struct forge_issues children = {0};
    enum forge_end end = forge_list_children(queue->forge, plan->item->number, &children);
    queue_forge_ended(queue, end);
    for (size_t i = 0; end == FORGE_OK && i < children.count; i++) {
        const struct forge_issue *child = &children.items[i];
        bool is_trusted = child->author_trust >= queue->options.filter.least_trust;
        if (child->is_open && is_trusted && plan->count < LIMIT_ISSUE_PLAN) {
            char id[QUEUE_TASK_ID];
            auto_buf struct buf text = {0};
            snprintf(id, sizeof(id), "%" PRId64, child->number);
            item_write_task(child, NULL, &text);
            add_task(plan, id, child->title, buf_string(&text));
        }
    }
    forge_issues_fini(&children);
    return end == FORGE_ABSENT ? FORGE_OK : end;
}

static enum forge_end add_tasks(struct issue_queue *queue, const struct queue_slot *slot,
                                const struct forge_issue *issue, const char *text,
                                struct queue_plan *plan)
{
    enum forge_end end = FORGE_OK;
    if (queue->options.has_plans && slot->item.follow_ups == 0) {
        end = add_children(queue, plan);
        if (end == FORGE_OK && plan->count == 0) {
            add_boxes(plan, issue, text);
        }
    }
    if (plan->count == 0) {
        char id[QUEUE_TASK_ID];
        snprintf(id, sizeof(id), "%" PRId64, issue->number);
        add_task(plan, id, issue->title, text);
    }
    return end;
}

/* ---- What people say about it --------------------------------------------------------------- */

/** Only the words of people who may start work reach the agent besides the issue itself. */
static void drop_strangers(struct forge_comments *comments, enum forge_trust least)
{
    size_t kept = 0;
    for (size_t i = 0; i < comments->count; i++) {
        struct forge_comment *comment = &comments->items[i];
        if (comment->author_trust >= least && item_find_command(comment->body) == ITEM_NO_COMMAND &&
            strstr(comment->body, "<!-- rondo") == NULL) {
            struct forge_comment swap = comments->items[kept];
            comments->items[kept++] = *comment;
            *comment = swap;
        }
    }
    for (size_t i = kept; i < comments->count; i++) {
        free(comments->items[i].body);
        free(comments->items[i].author);
    }
    comments->count = kept;
}

/** What reviews of its pull request ask for. The newest ones count: all of them are read. */
static enum forge_end add_reviews(struct issue_queue *queue, const struct queue_slot *slot,
                                  struct forge_comments *comments)
{
    struct forge_comments reviews = {0};
    bool wants_changes = false;
    enum forge_end end =
        forge_read_reviews(queue->forge, slot->item.pull, 0, &reviews, &wants_changes);
    queue_forge_ended(queue, end);
    if (end == FORGE_OK && reviews.count > 0) {
        comments->items = memory_resize(comments->items, comments->count + reviews.count,
                                        sizeof(*comments->items));
        memcpy(comments->items + comments->count, reviews.items,
               reviews.count * sizeof(*reviews.items));
        comments->count += reviews.count;
        reviews.count = 0;
    }
    forge_comments_fini(&reviews);
    return end;
}

static enum forge_end read_words(struct issue_queue *queue, const struct queue_slot *slot,
                                 struct forge_issue *ret_issue, struct forge_comments *ret_comments)
{
    enum forge_end end = forge_read_issue(queue->forge, slot->item.number, ret_issue);
    if (queue_forge_ended(queue, end)) {
        end = forge_list_comments(queue->forge, slot->item.number, 0, ret_comments);
        queue_forge_ended(queue, end);
    }
    if (end == FORGE_OK && slot->item.follow_ups > 0) {
        end = add_reviews(queue, slot, ret_comments);
    }
    drop_strangers(ret_comments, queue->options.filter.least_trust);
    return end;
}

/* ---- The file ------------------------------------------------------------------------------- */

/** Whether it has the words that were judged when it was claimed. */
static bool is_as_judged(const struct item *item, const struct forge_issue *issue)
{
    char digest[DIGEST_HEX_SIZE];
    item_digest(issue, digest);
    return item->content_digest == NULL || strcmp(item->content_digest, digest) == 0;
}

/** @param ret_is_changed the issue has another text now: nothing was written */
static enum forge_end write_plan(struct issue_queue *queue, const struct queue_slot *slot,
                                 struct buf *ret_json, int64_t *ret_count, bool *ret_is_changed)
{
    struct forge_issue issue = {0};
    struct forge_comments comments = {0};
    auto_buf struct buf text = {0};
    enum forge_end end = read_words(queue, slot, &issue, &comments);
    *ret_is_changed = end == FORGE_OK && !is_as_judged(&slot->item, &issue);
    if (end == FORGE_OK && !*ret_is_changed) {
        struct queue_plan plan = {.writer = json_writer(ret_json), .item = &slot->item};
        item_write_task(&issue, &comments, &text);
        json_begin_object(&plan.writer, NULL);
        json_write_string(&plan.writer, "name", slot->item.repository);
        json_write_string(&plan.writer, "branchName", slot->item.branch);
        json_begin_array(&plan.writer, "userStories");
        end = add_tasks(queue, slot, &issue, buf_string(&text), &plan);
        json_end_array(&plan.writer);
        json_end_object(&plan.writer);
        buf_append_string(ret_json, "\n");
        *ret_count = plan.count;
    }
    forge_issue_fini(&issue);
    forge_comments_fini(&comments);
    return end;
}

int queue_task_write(struct issue_queue *queue, const struct queue_slot *slot, char **ret_folder,
                     int64_t *ret_count, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    auto_buf struct buf folder = {0};
    auto_buf struct buf path = {0};
    bool is_changed = false;
    if (write_plan(queue, slot, &json, ret_count, &is_changed) != FORGE_OK) {
        return error_set(err, RONDO_ERR_IO, "%s", forge_outcome(queue->forge)->message);
    }
    if (is_changed) {
        queue->next_poll_ns = 0;
        return error_set(err, RONDO_ERR_BUSY, "the issue was changed a moment ago");
    }
    buf_printf(&folder, "%s/%" PRId64 "/%s", queue->options.folder, slot->item.number,
               slot->item.run_id);
    buf_printf(&path, "%s/prd.json", buf_string(&folder));
    int r = file_folder_make_path(NULL, buf_string(&folder), err);
    r = r < 0 ? r : file_replace_durably(buf_string(&path), json.data, json.len, err);
    if (r == 0) {
        *ret_folder = buf_steal(&folder);
    }
    return r;
}
