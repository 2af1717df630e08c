// SPDX-License-Identifier: Apache-2.0
/*
 * The user's state folder: $XDG_STATE_HOME/rondo, by default ~/.local/state/rondo. It holds what
 * decides (stores, policies in force, confirmations), so no sandbox shows it and no tool writes it.
 * docs/security.md says what may be relied on. Reads the environment; any thread.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>

/**
 * Where the state folder is, whether it exists or not. A relative XDG_STATE_HOME or HOME is
 * ignored; without HOME the user's entry in the password database counts.
 * @param ret_path owned, absolute
 * @return 0, or RONDO_ERR_NOT_FOUND when the user has no home
 */
int state_folder_path(char **ret_path, struct rondo_error *err);

/**
 * The state folder, made (mode 0700) unless it exists. RONDO_ERR_DENIED when it is a link, belongs
 * to another user or can be written by others: what is in it could be forged.
 * @param ret_path owned, absolute
 */
int state_folder(char **ret_path, struct rondo_error *err);

/** The same without making it: RONDO_ERR_NOT_FOUND when it does not exist. */
int state_folder_find(char **ret_path, struct rondo_error *err);

/**
 * A sub-folder of the state folder (a single name, such as "trust"), made and checked in the same
 * way.
 */
int state_sub_folder(const char *name, char **ret_path, struct rondo_error *err);

/**
 * The folder of a project, STATE/projects/NAME-HASH, made unless it exists: its file `project`
 * holds the project's path. RONDO_ERR_DENIED as for state_folder().
 * @param project an existing folder; its canonical path counts
 * @param ret_path owned, absolute
 */
int state_project_folder(const char *project, char **ret_path, struct rondo_error *err);

/** Where that folder is, whether it exists or not. */
int state_project_path(const char *project, char **ret_path, struct rondo_error *err);

/** The folder without making it: RONDO_ERR_NOT_FOUND when it does not exist. */
int state_project_find(const char *project, char **ret_path, struct rondo_error *err);

/** Whether a file, which may be absent, is in a project in which Rondo was used: its agents could
 * have written it. */
bool state_is_in_project(const char *path);

/**
 * A project that was moved away from where it was used: one whose folder is missing, and had the
 * same name as `project`.
 * @param ret_was its path, owned
 * @param ret_path its folder in the state folder, owned
 * @return whether there is one
 */
bool state_project_find_moved(const char *project, char **ret_was, char **ret_path);

/** Name of the file in a project's folder that holds the project's canonical path and a line end.
 */
#define STATE_PROJECT_FILE "project"
/** Name of the folder in the state folder that holds the folders of projects. */
#define STATE_PROJECTS "projects"
/** The same for those of stores in databases. */
#define STATE_DATABASES "databases"
