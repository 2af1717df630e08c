// SPDX-License-Identifier: Apache-2.0
/* Pull requests, which GitLab calls merge requests. */
#include "base/ascii.h"
#include "base/limits.h"
#include "forge/parts.h"
#include "forge/repository.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

void forge_pull_fini(struct forge_pull *pull)
{
    free(pull->url);
    free(pull->head);
    free(pull->head_id);
    free(pull->base);
    *pull = (struct forge_pull){0};
}

enum forge_end forge_reread_pull(struct forge *forge, int64_t number, char etag[FORGE_ETAG_SIZE],
                                 struct forge_pull *ret_pull)
{
    auto_buf struct buf path = {0};
    auto_reply struct forge_reply reply = {0};
    buf_printf(&path, "%s/%s/%" PRId64, forge->root, forge->ops->names.pulls, number);
    const struct forge_request request = {.path = buf_string(&path),
                                          .etag = etag[0] == '\0' ? NULL : etag};
    enum forge_end end = forge_send(forge, &request, &reply);
    if (end == FORGE_OK && !shape_pull(&forge->ops->names, reply.json, ret_pull)) {
        return forge_bad_answer(forge, false, "a pull request");
    }
    if (end == FORGE_OK && ret_pull->number != number) {
        forge_pull_fini(ret_pull);
        return forge_bad_answer(forge, false, "the pull request that was asked for");
    }
    if (end == FORGE_OK) {
        memcpy(etag, reply.etag, FORGE_ETAG_SIZE);
    }
    return end;
}

enum forge_end forge_read_pull(struct forge *forge, int64_t number, struct forge_pull *ret_pull)
{
    char etag[FORGE_ETAG_SIZE] = "";
    return forge_reread_pull(forge, number, etag, ret_pull);
}

/* ---- Sources --------------------------------------------------------------------------------- */

/** The repository whose branch a pull request is of. */
struct pull_source {
    const char *fork;         /**< as it was said; NULL = the repository itself */
    struct forge_place place; /**< of the fork */
    int64_t id;               /**< of the fork, where repositories are named by number */
};

static void source_fini(struct pull_source *source)
{
    forge_place_fini(&source->place);
}
#define auto_source __attribute__((cleanup(source_fini)))

static enum forge_end find_source(struct forge *forge, const char *fork,
                                  struct pull_source *ret_source)
{
    auto_reply struct forge_reply reply = {0};
    ret_source->fork = fork;
    if (fork == NULL) {
        return FORGE_OK;
    }
    enum forge_end end = repository_find_fork(forge, fork, &ret_source->place);
    if (end == FORGE_OK && forge->ops->write_fork_head == NULL) {
        end = repository_read_at(forge, &ret_source->place, &reply);
        ret_source->id = json_get_int(reply.json, "id", 0);
    }
    return end;
}

/** Whether a pull request is of that source. */
static bool is_from(const struct forge *forge, const struct pull_source *source,
                    struct json_object *json)
{
    const struct forge_names *names = &forge->ops->names;
    if (source->fork == NULL) {
        return shape_pull_is_inside(names, json);
    }
    return source->id > 0 ? json_get_int(json, "source_project_id", 0) == source->id
                          : shape_pull_is_of(names, json, source->fork);
}

/* ---- Finding --------------------------------------------------------------------------------- */

struct pull_search {
    struct forge *forge;
    const struct pull_source *source;
    const char *head;
    bool is_found;
    struct forge_pull pull;
};

static bool take_pulls(void *context, struct json_object *entries)
{
    struct pull_search *search = context;
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        struct forge_pull pull;
        if (!shape_pull(&search->forge->ops->names, entry, &pull)) {
            forge_bad_answer(search->forge, false, "a list of pull requests");
            return false;
        }
        /* A forge may leave a filter out, and a fork may have a branch of the same name. */
        if (strcmp(pull.head, search->head) == 0 && is_from(search->forge, search->source, entry)) {
            search->pull = pull;
            search->is_found = true;
            return false;
        }
        forge_pull_fini(&pull);
    }
    return true;
}

enum forge_end forge_find_pull(struct forge *forge, const char *fork, const char *head,
                               struct forge_pull *ret_pull)
{
    auto_buf struct buf path = {0};
    auto_source struct pull_source source = {0};
    struct pull_search search = {.forge = forge, .source = &source, .head = head};
    enum forge_end end = find_source(forge, fork, &source);
    if (end != FORGE_OK) {
        return end;
    }
    buf_printf(&path, "%s/%s?", forge->root, forge->ops->names.pulls);
    forge->ops->write_pull_query(fork != NULL ? &source.place : &forge->place, head, &path);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_pulls, .context = &search};
    end = forge_read_list(forge, &list);
    if (end == FORGE_OK && !search.is_found) {
        return forge_end_with(forge, FORGE_ABSENT, "%s: there is no pull request from %.100s",
                              forge->place.host, head);
    }
    if (end == FORGE_OK) {
        *ret_pull = search.pull;
    }
    return end;
}

/* ---- Creating -------------------------------------------------------------------------------- */

/** A pull request to be opened, and what its answer must agree with. */
struct pull_order {
    const struct forge_new_pull *pull;
    struct pull_source source;
    int64_t target_id; /**< of this repository, where it is named by number */
};

static void order_fini(struct pull_order *order)
{
    source_fini(&order->source);
}
#define auto_order __attribute__((cleanup(order_fini)))

static void write_head(const struct forge *forge, const struct pull_order *order,
                       struct json_writer *writer)
{
    const struct forge_ops *ops = forge->ops;
    if (order->source.fork != NULL && ops->write_fork_head != NULL) {
        ops->write_fork_head(&forge->place, &order->source.place, order->pull->head, writer);
    } else {
        json_write_string(writer, ops->names.pull_source, order->pull->head);
    }
    if (order->target_id > 0) {
        json_write_int(writer, "target_project_id", order->target_id);
    }
}

static void write_pull(const struct forge *forge, const struct pull_order *order, bool is_draft,
                       struct buf *ret_body)
{
    const struct forge_names *names = &forge->ops->names;
    const struct forge_new_pull *pull = order->pull;
    auto_buf struct buf title = {0};
    struct json_writer writer = json_writer(ret_body);
    bool is_marked = is_draft && names->draft_mark != NULL;
    buf_printf(&title, "%s%s", is_marked ? names->draft_mark : "", pull->title);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "title", buf_string(&title));
    write_head(forge, order, &writer);
    json_write_string(&writer, names->pull_target, pull->base);
    json_write_string(&writer, names->body, pull->body);
    if (is_draft && names->draft_mark == NULL) {
        json_write_bool(&writer, "draft", true);
    }
    json_end_object(&writer);
}

/** Whether an answer is the pull request that was ordered: forges that do not know a member leave
 *  it out, and would open another one. */
static bool is_ordered(const struct forge *forge, const struct pull_order *order,
                       struct json_object *json)
{
    return order->source.fork == NULL ||
           (is_from(forge, &order->source, json) &&
            (order->target_id == 0 ||
             json_get_int(json, "target_project_id", 0) == order->target_id));
}

static enum forge_end create_pull(struct forge *forge, const struct pull_order *order,
                                  bool is_draft, struct forge_pull *ret_pull)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    auto_reply struct forge_reply reply = {0};
    if (order->target_id > 0) {
        forge->ops->write_root(&order->source.place, &path);
    } else {
        buf_append_string(&path, forge->root);
    }
    buf_printf(&path, "/%s", forge->ops->names.pulls);
    write_pull(forge, order, is_draft, &body);
    enum forge_end end = forge_write(forge, "POST", buf_string(&path), &body, &reply);
    if (end == FORGE_OK && (!is_ordered(forge, order, reply.json) ||
                            !shape_pull(&forge->ops->names, reply.json, ret_pull))) {
        return forge_bad_answer(forge, true, "the pull request that was asked for");
    }
    return end;
}

/** Find out by which numbers the repositories are named, where they are. */
static enum forge_end find_order(struct forge *forge, struct pull_order *order)
{
    auto_reply struct forge_reply reply = {0};
    enum forge_end end = find_source(forge, order->pull->fork, &order->source);
    if (end == FORGE_OK && order->source.id > 0) {
        end = repository_read_at(forge, &forge->place, &reply);
        order->target_id = json_get_int(reply.json, "id", 0);
    }
    return end;
}

enum forge_end forge_create_pull(struct forge *forge, const struct forge_new_pull *pull,
                                 struct forge_pull *ret_pull)
{
    auto_order struct pull_order order = {.pull = pull};
    enum forge_end end = find_order(forge, &order);
    if (end != FORGE_OK) {
        return end;
    }
    end = create_pull(forge, &order, pull->is_draft, ret_pull);
    /* "Draft pull requests are not supported in this repository": of private ones on some plans. */
    if (end == FORGE_CONFLICT && pull->is_draft && forge->ops->names.draft_mark == NULL &&
        strcasestr(forge->outcome.message, "draft pull request") != NULL) {
        end = create_pull(forge, &order, false, ret_pull);
    }
    return end;
}
