// SPDX-License-Identifier: Apache-2.0
/*
 * Archives of finished PRDs: archive/YYYY-MM-DD-name/ in the folder of the PRD, into which its
 * files are moved. Any thread.
 */
#pragma once

#include "rondo/error.h"

#include <stdint.h>

/** Bytes of a name in an archive's path, its NUL included. */
#define PRD_ARCHIVE_NAME_SIZE 65

/**
 * A name as a part of a path: letters, digits, dots, dashes and underscores; everything else is a
 * dash, a prefix "ralph/" is left out; never empty, never beginning with a dot.
 */
void prd_archive_name(const char *name, char ret_name[static PRD_ARCHIVE_NAME_SIZE]);

/**
 * Move files into an archive. Called again with the same arguments, after a crash too, it finishes
 * the same archive: it knows its own by `key`, which is kept in the archive as `.rondo`. Another
 * archive of the same name and day gets a number. Links are neither followed nor moved. What is in
 * the archive already is not replaced: a file that somebody has made anew since stays where it is.
 * @param agent_folders folders that agents can write; NULL = the working folder
 * @param folder  of the files
 * @param files   single names, NULL-terminated; one that is missing is left out
 * @param time_ns says the day, in UTC
 * @param key     one line that names what is archived: the id of a run
 * @param ret_path path of the archive below `folder`, owned
 * @return 0; RONDO_ERR_INVALID when something is in the way (a link, a folder); RONDO_ERR_LIMIT
 * after LIMIT_PRD_ARCHIVES of one name and day
 */
int prd_archive(const char *const *agent_folders, const char *folder, const char *const *files,
                const char *name, int64_t time_ns, const char *key, char **ret_path,
                struct rondo_error *err);
