// SPDX-License-Identifier: Apache-2.0
/* The repository and its forks, and what the token may do in them. */
#include "forge/repository.h"

#include "base/auto.h"
#include "base/limits.h"
#include "forge/parts.h"
#include "forge/place.h"
#include "forge/shape.h"

#include <stdlib.h>
#include <strings.h>

void forge_repository_fini(struct forge_repository *repository)
{
    free(repository->default_branch);
    free(repository->clone_url);
    free(repository->login);
    *repository = (struct forge_repository){0};
}

static void take_repository(const struct forge_ops *ops, struct json_object *answer,
                            struct forge_repository *repository)
{
    struct json_object *rights = json_member(answer, "permissions");
    bool may_administer =
        json_get_bool(rights, "admin", false) || json_get_bool(rights, "maintain", false);
    repository->default_branch = shape_line(answer, "default_branch", LIMIT_GIT_BRANCH_BYTES);
    repository->clone_url = shape_url(
        answer, json_member(answer, "clone_url") != NULL ? "clone_url" : "http_url_to_repo");
    repository->can_push = may_administer || json_get_bool(rights, "push", false);
    repository->can_triage = repository->can_push || json_get_bool(rights, "triage", false);
    /* Who could read this answer may read; without a token nothing is said of rights. */
    repository->can_pull = json_get_bool(rights, "pull", true);
    repository->is_archived = json_get_bool(answer, "archived", false);
    repository->has_issues = json_get_bool(answer, "has_issues", true);
    if (ops->take_repository != NULL) {
        ops->take_repository(answer, repository);
    }
}

/** The account of the token. A token of an app has none: that is no failure. */
static enum forge_end read_login(struct forge *forge, struct forge_repository *repository)
{
    auto_reply struct forge_reply reply = {0};
    enum forge_end end = forge_get(forge, "/user", &reply);
    if (end == FORGE_FORBIDDEN || end == FORGE_ABSENT) {
        return forge_end_with(forge, FORGE_OK, "%s", "");
    }
    if (end == FORGE_OK) {
        char *login = shape_line(reply.json, forge->ops->names.login, LIMIT_FORGE_NAME_BYTES);
        repository->login = login[0] != '\0' ? login : NULL;
        if (repository->login == NULL) {
            free(login);
        }
    }
    return end;
}

enum forge_end forge_read_repository(struct forge *forge, struct forge_repository *ret_repository)
{
    auto_reply struct forge_reply reply = {0};
    struct forge_repository repository = {0};
    enum forge_end end = forge_get(forge, forge->root, &reply);
    if (end != FORGE_OK) {
        return end;
    }
    if (json_get_int(reply.json, "id", 0) <= 0) {
        return forge_bad_answer(forge, false, "a repository");
    }
    take_repository(forge->ops, reply.json, &repository);
    if (forge->ops->read_is_empty != NULL) {
        end = forge->ops->read_is_empty(forge, reply.json, &repository.is_empty);
    }
    if (end == FORGE_OK && forge->authorization.len > 0) {
        end = read_login(forge, &repository);
    }
    if (end != FORGE_OK) {
        forge_repository_fini(&repository);
        return end;
    }
    *ret_repository = repository;
    return end;
}

/* ---- Forks ----------------------------------------------------------------------------------- */

void forge_fork_fini(struct forge_fork *fork)
{
    free(fork->clone_url);
    *fork = (struct forge_fork){0};
}

/** Whether a repository of an answer is the one of a place. Forges compare names without case. */
static bool is_at(const struct forge_names *names, struct json_object *repository,
                  const struct forge_place *place)
{
    auto_buf struct buf full_name = {0};
    buf_printf(&full_name, "%s/%s", place->owner, place->name);
    return strcasecmp(json_get_string(repository, names->full_name, ""), buf_string(&full_name)) ==
           0;
}

enum forge_end repository_find_fork(struct forge *forge, const char *fork,
                                    struct forge_place *ret_place)
{
    struct rondo_error err = {0};
    if (forge_place_sibling(&forge->place, fork, ret_place, &err) < 0) {
        return forge_end_with(forge, FORGE_CONFLICT, "%s", err.message);
    }
    return FORGE_OK;
}

enum forge_end repository_read_at(struct forge *forge, const struct forge_place *place,
                                  struct forge_reply *ret_reply)
{
    auto_buf struct buf path = {0};
    struct forge_reply reply = {0};
    forge->ops->write_root(place, &path);
    enum forge_end end = forge_get(forge, buf_string(&path), &reply);
    if (end == FORGE_OK &&
        (json_get_int(reply.json, "id", 0) <= 0 || !is_at(&forge->ops->names, reply.json, place))) {
        end = forge_bad_answer(forge, false, "the repository that was asked for");
    }
    if (end != FORGE_OK) {
        forge_reply_fini(&reply);
        return end;
    }
    *ret_reply = reply;
    return FORGE_OK;
}

/** Whether the forge says that it comes from this repository. */
static bool is_forked(const struct forge *forge, struct json_object *answer)
{
    const struct forge_names *names = &forge->ops->names;
    bool is_it = false;
    for (size_t i = 0; i < sizeof(names->parents) / sizeof(names->parents[0]); i++) {
        is_it |= names->parents[i] != NULL &&
                 is_at(names, json_member(answer, names->parents[i]), &forge->place);
    }
    return is_it;
}

enum forge_end forge_read_fork(struct forge *forge, const char *fork, struct forge_fork *ret_fork)
{
    auto_place struct forge_place place = {0};
    auto_reply struct forge_reply reply = {0};
    struct forge_repository repository = {0};
    enum forge_end end = repository_find_fork(forge, fork, &place);
    end = end == FORGE_OK ? repository_read_at(forge, &place, &reply) : end;
    if (end != FORGE_OK) {
        return end;
    }
    take_repository(forge->ops, reply.json, &repository);
    if (!forge_place_is_address(&place, repository.clone_url)) {
        end = forge_end_with(forge, FORGE_UNAVAILABLE,
                             "%s: names %.120s as the address of %.80s, which is another place",
                             forge->place.host, repository.clone_url, fork);
    } else {
        *ret_fork = (struct forge_fork){.id = json_get_int(reply.json, "id", 0),
                                        .clone_url = steal_pointer(&repository.clone_url),
                                        .is_fork = is_forked(forge, reply.json),
                                        .can_push = repository.can_push,
                                        .is_archived = repository.is_archived};
    }
    forge_repository_fini(&repository);
    return end;
}
