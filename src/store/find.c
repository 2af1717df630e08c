// SPDX-License-Identifier: Apache-2.0
/* Looking runs up by prefix. */
#include "store/find.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"

#include <stdio.h>
#include <string.h>

/** Runs that an "ambiguous" message names. */
#define CANDIDATES_SHOWN 5
/** Runs among which the last one is that nobody has given away. */
#define LAST_LOOKED_AT 200

struct run_search {
    struct store_run first;
    size_t count;
    struct buf names;
};

static bool take_run(const struct store_run *run, void *context)
{
    struct run_search *search = context;
    if (search->count++ == 0) {
        search->first = *run;
    }
    if (search->count <= CANDIDATES_SHOWN) {
        buf_printf(&search->names, "%s%s (%s)", search->count == 1 ? "" : ", ", run->id,
                   run->agent_id);
    }
    return true;
}

/** Take the first one that was not given away by another run: those have ids made from a call. */
static bool take_last(const struct store_run *run, void *context)
{
    struct run_search *search = context;
    if (search->count == 0 || id_is_from_name(search->first.id)) {
        search->first = *run;
        search->count = 1;
    }
    return id_is_from_name(search->first.id);
}

static int find_last(struct store *store, const char *agent_id, struct run_search *search,
                     struct rondo_error *err)
{
    struct store_run_query query = {.agent_id = agent_id,
                                    .limit = agent_id == NULL ? LAST_LOOKED_AT : 1};
    int r = store->ops->list_runs(store, &query, take_last, search, err);
    if (r < 0 || search->count > 0) {
        return r;
    }
    return agent_id == NULL
               ? error_set(err, RONDO_ERR_NOT_FOUND, "the store has no run yet")
               : error_set(err, RONDO_ERR_NOT_FOUND, "the store has no run of agent %s", agent_id);
}

/** Copy a prefix in lower case. @return whether it can begin an id */
static bool read_prefix(const char *name, char ret_prefix[ID_SIZE])
{
    size_t len = strlen(name);
    if (len == 0 || len >= ID_SIZE) {
        return false;
    }
    for (size_t i = 0; i <= len; i++) {
        ret_prefix[i] = ascii_lower(name[i]);
        if (i < len && ascii_hex_value(name[i]) < 0 && name[i] != '-') {
            return false;
        }
    }
    return true;
}

static int find_prefix(struct store *store, const char *name, struct run_search *search,
                       struct rondo_error *err)
{
    char prefix[ID_SIZE];
    if (!read_prefix(name, prefix)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "'%.64s' is not a run; give an id, the beginning of one, or 'last'", name);
    }
    struct store_run_query query = {.id_prefix = prefix, .limit = CANDIDATES_SHOWN + 1};
    int r = store->ops->list_runs(store, &query, take_run, search, err);
    if (r == 0 && search->count == 0) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "the store has no run %s", name);
    }
    if (r == 0 && search->count > 1) {
        r = error_set(err, RONDO_ERR_INVALID, "%s fits several runs: %s%s", name,
                      buf_string(&search->names),
                      search->count > CANDIDATES_SHOWN ? ", and more" : "");
    }
    return r;
}

int store_find_run(struct store *store, const char *name, const char *agent_id,
                   struct store_run *ret_run, struct rondo_error *err)
{
    struct run_search search = {0};
    int r = strcmp(name, "last") == 0 ? find_last(store, agent_id, &search, err)
                                      : find_prefix(store, name, &search, err);
    if (r == 0) {
        *ret_run = search.first;
    }
    buf_fini(&search.names);
    return r;
}

/* ---- Documents ------------------------------------------------------------------------------ */

struct excess_search {
    uint64_t left;
    char *key;
};

static bool take_excess(const struct store_document *document, void *context)
{
    struct excess_search *search = context;
    if (search->left > 0) {
        search->left--;
        return true;
    }
    snprintf(search->key, STORE_KEY_LEN + 1, "%s", document->key);
    return false;
}

int store_find_excess(struct store *store, const char *collection, uint64_t kept,
                      char ret_key[STORE_KEY_LEN + 1], struct rondo_error *err)
{
    struct store_document_query query = {.collection = collection, .is_descending = true};
    struct excess_search search = {.left = kept, .key = ret_key};
    ret_key[0] = '\0';
    return store->ops->read_documents(store, &query, take_excess, &search, err);
}
