// SPDX-License-Identifier: Apache-2.0
/*
 * The hand-over folder of one owner of a run: WORK/RUN/EPOCH with the files that a worker command
 * finds and leaves. The command can put anything in their place, and without a sandbox in place of
 * the folders too. So the folder is held open from the moment it was made, every file is written,
 * read and removed through that descriptor (os/file_untrusted, os/file_folder), and a folder that
 * is no longer where the command was told it is makes the iteration a failed one.
 *
 * What the result file says is parsed here too; docs/workers.md documents it.
 *
 * Each owner has a folder of its own: one that wakes late must not touch its heir's files. One
 * thread.
 */
#pragma once

#include "base/buf.h"
#include "journal/state.h"
#include "rondo/error.h"

#include <stddef.h>
#include <stdint.h>

enum worker_file {
    WORKER_FILE_PROMPT,
    WORKER_FILE_STATE,
    WORKER_FILE_FEEDBACK,
    WORKER_FILE_RESULT,
    WORKER_FILE_COUNT
};

struct worker_files;

/**
 * Make the folder.
 * @param work_folder for the folders of all runs; made if it is missing. Out of agents' reach.
 */
int worker_files_new(const char *work_folder, const char *run_id, uint64_t epoch,
                     struct worker_files **ret_files, struct rondo_error *err);

/** Remove the folder, wherever it is by now, and release. NULL is allowed. */
void worker_files_free(struct worker_files *files);

/** Remove the folder of the run with all that former owners left: when the run has ended. */
void worker_files_remove_run(struct worker_files *files);

/** Begin an iteration: the folder is where it belongs and has no result. */
int worker_files_begin(struct worker_files *files, struct rondo_error *err);

/** Use a folder for temporary files from now on: the disk of the first one is full or failing. */
int worker_files_move(struct worker_files *files, struct rondo_error *err);

/** Write a file for the command. */
int worker_files_write(struct worker_files *files, enum worker_file file, const void *bytes,
                       size_t len, struct rondo_error *err);

/**
 * Append what the command left in a file, as hostile input.
 * @return RONDO_ERR_NOT_FOUND when there is none; any other negative code with a message that says
 *         what is in its place
 */
int worker_files_read(struct worker_files *files, enum worker_file file, size_t limit,
                      struct buf *ret_buf, struct rondo_error *err);

/** Absolute paths, for the command's environment and its sandbox. Valid until the next change. */
const char *worker_files_folder(const struct worker_files *files);
const char *worker_files_path(const struct worker_files *files, enum worker_file file);

/** The file that is locked while a command of the run lives. */
const char *worker_files_lock(const struct worker_files *files);

/** What a result file says. Owned texts; worker_result_fini(). */
struct worker_result {
    enum run_finish finish;
    char *summary;     /**< or NULL */
    char *custom_data; /**< JSON or NULL */
    int64_t tokens;
    int64_t cost_micro;
};
void worker_result_fini(struct worker_result *result);

/**
 * Read the content of a result file (docs/workers.md): an object with `finish`, `custom_data` and
 * `usage`, all optional. Unknown keys are ignored, wrong types are errors that name the key.
 */
int worker_result_parse(const char *json, size_t len, struct worker_result *ret_result,
                        struct rondo_error *err);
