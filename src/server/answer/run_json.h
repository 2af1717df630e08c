// SPDX-License-Identifier: Apache-2.0
/* A run as the API and `rondo runs --json` show it: schema Run of openapi/runs.json. */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct json_writer;
struct orchestrator;

/**
 * Append the JSON object.
 * @param orchestrator knows whether it is queued; or NULL
 * @param store name of its store among those of the server; NULL = it has one
 */
void run_json_write(const struct store_run *run, struct orchestrator *orchestrator,
                    const char *store, struct buf *ret_json);

/** The same for a known status. @param waiting_for as of servers_explain_waiting; "" = nothing */
void run_json_write_display_status(const struct store_run *run, const char *status,
                                   const char *waiting_for, struct buf *ret_json);

/** Write the members of that object. @param kind "role", "command", "library"; NULL = unknown */
void run_json_members(const struct store_run *run, const char *kind,
                      struct orchestrator *orchestrator, const char *store,
                      struct json_writer *writer);

/** Display status of a run: run_display_status, or "queued". Static. */
const char *run_json_status(const struct store_run *run, struct orchestrator *orchestrator);

/** Append the object of counts by status, with paused and total. @param store as above */
void run_counts_write(const struct store_run_counts *counts, const char *store,
                      struct buf *ret_json);
