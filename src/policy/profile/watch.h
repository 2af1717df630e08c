// SPDX-License-Identifier: Apache-2.0
/*
 * The profiles that count now: those of profiles.cedar, with the entities of profiles.entities.json
 * beside it, or the built-in ones. The files are looked at before every decision; a change counts
 * from then on, and a wrong file changes nothing. Both lie where no agent can write. Any thread.
 */
#pragma once

#include "policy/profile/profile.h"

#define PROFILE_FILE_NAME "profiles.cedar"

struct profile_watch;

/**
 * @param folder of the files; NULL = the built-in profiles only
 * @param refused called when a changed file is wrong, once for each change; or NULL
 * @return never NULL; profile_watch_free()
 */
struct profile_watch *profile_watch_new(const char *folder,
                                        void (*refused)(void *context, const char *message),
                                        void *context);
/** NULL is allowed. */
void profile_watch_free(struct profile_watch *watch);

/**
 * Decide about an action by the profiles that count now.
 * @param ret_profiles the answer borrows from it; profiles_unref()
 * @return 0; RONDO_ERR_INVALID when the files are wrong since the start: then nothing is allowed
 */
int profile_watch_decide(struct profile_watch *watch, const struct profile_request *request,
                         struct profile_answer *ret_answer, struct buf *ret_errors,
                         struct profiles **ret_profiles, struct rondo_error *err);

/** The profiles that count now. As profile_watch_decide. */
int profile_watch_get(struct profile_watch *watch, struct profiles **ret_profiles,
                      struct rondo_error *err);

/**
 * Make profiles of another text with the entities that count now, to see what it would decide.
 * @param ret_profiles profiles_unref()
 * @return as profiles_make
 */
int profile_watch_try(const struct profile_watch *watch, const char *policies, size_t len,
                      struct profiles **ret_profiles, struct rondo_error *err);

/**
 * Read and check a file of profiles with its entities, for `rondo policy check`.
 * @param ret_profiles profiles_unref()
 */
int profile_read(const char *path, struct profiles **ret_profiles, struct rondo_error *err);
