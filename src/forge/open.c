// SPDX-License-Identifier: Apache-2.0
#include "forge/forge.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "forge/pace.h"
#include "forge/people.h"

#include <stdlib.h>
#include <string.h>

void forge_place_fini(struct forge_place *place)
{
    free(place->host);
    free(place->api);
    free(place->owner);
    free(place->name);
    *place = (struct forge_place){0};
}

/** A token goes into a header: nothing in it may end the line. */
static int check_token(const char *token, struct rondo_error *err)
{
    size_t len = strlen(token);
    bool is_fine = len > 0 && len <= LIMIT_FORGE_TOKEN_LEN;
    for (size_t i = 0; i < len && is_fine; i++) {
        is_fine = ascii_is_graphic(token[i]);
    }
    return is_fine ? 0
                   : error_set(err, RONDO_ERR_INVALID,
                               "the token of the forge is empty, too long, or has characters that "
                               "no token has");
}

/** Segments that are resolved on the way would make it another repository. */
static int check_place(const struct forge_place *place, struct rondo_error *err)
{
    const char *owner = place->owner;
    bool is_fine = link_is_segment(place->name) && strchr(place->name, '/') == NULL;
    while (is_fine && owner != NULL) {
        size_t len = strcspn(owner, "/");
        char *segment = memory_dup_bytes(owner, len);
        is_fine = link_is_segment(segment);
        free(segment);
        owner = owner[len] == '/' ? owner + len + 1 : NULL;
    }
    return is_fine ? 0
                   : error_set(err, RONDO_ERR_INVALID, "`%.100s/%.100s` is not a repository",
                               place->owner, place->name);
}

int forge_open(const struct forge_options *options, struct forge **ret_forge,
               struct rondo_error *err)
{
    const struct forge_place *place = options->place;
    struct buf root = {0};
    int r = check_place(place, err);
    r = r == 0 && options->token != NULL ? check_token(options->token, err) : r;
    if (r < 0) {
        return r;
    }
    struct forge *forge = memory_new_zero(1, sizeof(*forge));
    forge->place = (struct forge_place){
        .kind = place->kind,
        .host = memory_dup_string(place->host),
        .api = memory_dup_string(place->api),
        .owner = memory_dup_string(place->owner),
        .name = memory_dup_string(place->name),
    };
    forge->ops = forge_ops_of(place->kind);
    forge->ops->write_root(place, &root);
    forge->root = buf_steal(&root);
    if (options->token != NULL) {
        secret_set(&forge->token, "", options->token);
        secret_set(&forge->authorization, forge->ops->token_prefix, options->token);
    }
    forge->http = options->http;
    forge->clock = options->clock;
    forge->random = options->random;
    forge->cancel = options->cancel;
    forge->pace =
        pace_take(options->paces, place->api, options->token, clock_monotonic(options->clock));
    forge->write_gap_ns = options->write_gap_ns > 0 ? options->write_gap_ns : FORGE_WRITE_GAP_NS;
    *ret_forge = forge;
    return 0;
}

void forge_close(struct forge *forge)
{
    if (forge == NULL) {
        return;
    }
    for (size_t i = 0; i < FORGE_MEMORIES; i++) {
        free(forge->memories[i].list);
        free(forge->memories[i].path);
    }
    people_forget(forge);
    pace_release(forge->pace);
    secret_fini(&forge->token);
    secret_fini(&forge->authorization);
    forge_place_fini(&forge->place);
    free(forge->root);
    free(forge);
}

const struct forge_outcome *forge_outcome(const struct forge *forge)
{
    return &forge->outcome;
}

int64_t forge_now(const struct forge *forge)
{
    return clock_now(forge->clock) + forge->ahead_ns;
}
