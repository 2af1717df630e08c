// SPDX-License-Identifier: Apache-2.0
/*
 * The servers of a store: a document of the collection "server" for each, its key the server's
 * name. On a store that other machines share, a server writes its own every SERVER_BEAT_NS, and is
 * alive while the document is younger than SERVER_LEASE_NS by the clock of the database. On a store
 * of one machine the kernel says which processes live, and nothing is written meanwhile. Any
 * thread.
 */
#pragma once

#include "base/text/labels.h"
#include "store/store.h"

struct buf;
struct json_writer;
struct random;

#define SERVER_COLLECTION "server"
#define SERVER_BEAT_NS    INT64_C(5000000000)
#define SERVER_LEASE_NS   INT64_C(20000000000)
/** Servers that have not been seen for so long are forgotten. */
#define SERVER_KEEP_NS INT64_C(86400000000000)
/** Each server looks for those so often. */
#define SERVER_FORGET_NS INT64_C(3600000000000)

/** Bytes of an address and of a version that are kept, the NUL included. */
#define SERVER_ADDRESS_SIZE 256
#define SERVER_VERSION_SIZE 32

struct server_info {
    char name[LABEL_SIZE];
    char pool[LABELS_SIZE];            /**< its labels; "" = none */
    char owner[STORE_OWNER_SIZE];      /**< name under which the process holds runs */
    char address[SERVER_ADDRESS_SIZE]; /**< of the dashboard; "" = none */
    char version[SERVER_VERSION_SIZE];
    uint64_t capacity;  /**< runs that it executes at once */
    uint64_t executing; /**< that it executes now; see servers_count_executing() */
    int64_t started_ns;
    int64_t seen_ns; /**< last time that it was seen, by the store's clock */
    uint64_t document_version;
    bool is_alive;
};

/**
 * Read all, by name.
 * @param clock    of a store that has none of its own
 * @param ret_list free(); NULL when there is none
 */
int servers_read(struct store *store, const struct clock *clock, struct server_info **ret_list,
                 size_t *ret_count, struct rondo_error *err);

/** The time by the clock that seen_ns is by. */
int servers_now(struct store *store, const struct clock *clock, int64_t *ret_now_ns,
                struct rondo_error *err);

/** Set how many runs each of them executes. */
int servers_count_executing(struct store *store, struct server_info *list, size_t count,
                            struct rondo_error *err);

/** The living one of an owner; NULL = there is none. */
const struct server_info *servers_find_alive(const struct server_info *list, size_t count,
                                             const char *owner);

struct assignment;

/**
 * Append what a run that nobody executes waits for, if no living server can execute it: "server
 * web1", "a server with the labels gpu"; else nothing.
 * @param assignment or NULL
 */
void servers_explain_waiting(const struct store *store, const struct server_info *list,
                             size_t count, const struct store_run *run,
                             const struct assignment *assignment, struct buf *ret_text);

/** A name for a server that was given none: the host's, and something unique. */
void server_default_name(struct random *random, char ret_name[LABEL_SIZE]);

/** Write the members that lists show. */
void server_write_members(const struct server_info *server, struct json_writer *writer);

/**
 * Register, or refresh what is registered.
 * @param server document_version is that of its document as it was written last, 0 = never; set
 * @return 0, or RONDO_ERR_BUSY when a living server has the name
 */
int server_register(struct store *store, const struct clock *clock, struct server_info *server,
                    struct rondo_error *err);

/** Delete its document, if it is still its own. */
void server_unregister(struct store *store, const struct server_info *server);

/** Delete documents of servers that have not been seen for SERVER_KEEP_NS. */
void servers_forget_old(struct store *store, const struct clock *clock,
                        const struct server_info *list, size_t count);
