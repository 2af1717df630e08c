// SPDX-License-Identifier: Apache-2.0
/* rondo store grant, revoke, grants: what roles of a database may do in its store. */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cli/commands/store/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/terminal/text.h"
#include "store/locate/database.h"
#include "store/locate/locate.h"
#include "store/postgres/rights.h"

#include <stdlib.h>
#include <string.h>

struct grant_values {
    char *store;
    int64_t rank;
    char **agents;
    int64_t wants_json;
};

static const struct option_choice ranks[] = {
    {"reader", STORE_READER}, {"runner", STORE_RUNNER}, {"operator", STORE_OPERATOR}, {0}};

const struct option_row store_grant_options[] = {
    {.name = "as",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct grant_values, rank),
     .choices = ranks,
     .by_default = "reader",
     .help = "What the role may do",
     .group = "Rights"},
    {.name = "agents",
     .kind = OPTION_LIST,
     .offset = offsetof(struct grant_values, agents),
     .argument = "PATTERN",
     .by_default = "*",
     .help = "Only with runs of this agent, or of agents whose names begin with what is before a "
             "*; repeatable"},
    OPTION_ROW_STORE(struct grant_values),
    {0},
};

const struct option_row store_revoke_options[] = {
    OPTION_ROW_STORE(struct grant_values),
    {0},
};

const struct option_row store_grants_options[] = {
    OPTION_ROW_STORE(struct grant_values),
    OPTION_ROW_JSON(struct grant_values, "As one JSON array"),
    {0},
};

/** Open a store that has roles. */
static int open_database(const char *given, struct store **ret_store, struct rondo_error *err)
{
    struct store *store = NULL;
    auto_free char *path = NULL;
    int r = store_open_default(given, STORE_WRITING, &store, &path, err);
    if (r == 0 && !store_is_in_database(path)) {
        store_close(store);
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the store is a file, whose permissions are those of the file system; "
                         "rights are for stores in PostgreSQL (--store postgresql://...)");
    }
    if (r == 0) {
        *ret_store = store;
    }
    return r;
}

int cmd_store_grant(const struct invocation *invocation)
{
    static const char *const all[] = {"*"};
    struct grant_values values = {.rank = STORE_READER};
    struct option_set set = {.rows = store_grant_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    if (!parsed.is_over) {
        struct rondo_error err = {0};
        struct store *store = NULL;
        size_t count = 0;
        while (values.agents != NULL && values.agents[count] != NULL) {
            count++;
        }
        int r = open_database(values.store, &store, &err);
        if (r == 0) {
            r = store_postgres_grant(store, parsed.argv[0], (enum store_postgres_rank)values.rank,
                                     count > 0 ? (const char *const *)values.agents : all,
                                     count > 0 ? count : 1, &err);
        }
        store_close(store);
        parsed.exit_code = r < 0 ? report_error(&err) : 0;
    }
    option_set_fini(&set);
    return parsed.exit_code;
}

int cmd_store_revoke(const struct invocation *invocation)
{
    struct grant_values values = {0};
    struct option_set set = {.rows = store_revoke_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    if (!parsed.is_over) {
        struct rondo_error err = {0};
        struct store *store = NULL;
        int r = open_database(values.store, &store, &err);
        r = r < 0 ? r : store_postgres_revoke(store, parsed.argv[0], &err);
        store_close(store);
        parsed.exit_code = r < 0 ? report_error(&err) : 0;
    }
    option_set_fini(&set);
    return parsed.exit_code;
}

/** A list that is being written. */
struct rights_listing {
    struct buf out;
    struct json_writer writer;
    bool wants_json;
    char *role; /**< owned; of the line that has no end yet, or NULL */
};

static void end_role(struct rights_listing *listing)
{
    if (listing->role != NULL && listing->wants_json) {
        json_end_array(&listing->writer);
        json_end_object(&listing->writer);
    } else if (listing->role != NULL) {
        buf_append_string(&listing->out, "\n");
    }
    free(listing->role);
    listing->role = NULL;
}

static void begin_role(struct rights_listing *listing, const char *role,
                       enum store_postgres_rank rank)
{
    const char *as = store_postgres_rank_name(rank);
    listing->role = strdup(role);
    if (listing->wants_json) {
        json_begin_object(&listing->writer, NULL);
        json_write_string(&listing->writer, "role", role);
        json_write_string(&listing->writer, "as", as);
        json_begin_array(&listing->writer, "agents");
    } else {
        text_clean(role, strlen(role), &listing->out);
        buf_printf(&listing->out, "\t%s\t", as);
    }
}

static bool add_right(const char *role, enum store_postgres_rank rank, const char *pattern,
                      void *context)
{
    struct rights_listing *listing = context;
    bool is_new = listing->role == NULL || strcmp(listing->role, role) != 0;
    if (is_new) {
        end_role(listing);
        begin_role(listing, role, rank);
    }
    if (listing->wants_json) {
        json_write_string(&listing->writer, NULL, pattern);
    } else {
        buf_append_string(&listing->out, is_new ? "" : " ");
        text_clean(pattern, strlen(pattern), &listing->out);
    }
    return true;
}

static int list(struct store *store, bool wants_json, struct rondo_error *err)
{
    struct rights_listing listing = {.wants_json = wants_json};
    listing.writer = json_writer(&listing.out);
    if (wants_json) {
        json_begin_array(&listing.writer, NULL);
    }
    int r = store_postgres_list_rights(store, add_right, &listing, err);
    end_role(&listing);
    if (wants_json) {
        json_end_array(&listing.writer);
        buf_append_string(&listing.out, "\n");
    }
    if (r == 0) {
        report_output(&listing.out);
    }
    buf_fini(&listing.out);
    return r;
}

int cmd_store_grants(const struct invocation *invocation)
{
    struct grant_values values = {0};
    struct option_set set = {.rows = store_grants_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (!parsed.is_over) {
        struct rondo_error err = {0};
        struct store *store = NULL;
        int r = open_database(values.store, &store, &err);
        r = r < 0 ? r : list(store, values.wants_json != 0, &err);
        store_close(store);
        parsed.exit_code = r < 0 ? report_error_as(&err, values.wants_json != 0) : 0;
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
