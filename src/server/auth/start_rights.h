// SPDX-License-Identifier: Apache-2.0
/*
 * What a caller without the scope administer may start. The scope operate gives no more than the
 * sandbox: a caller that could start programs without one, or let the server read any file, could
 * read the store and make tokens. So what opens the sandbox or names files needs the scope
 * administer; without it a command runs in a sandbox, in the server's workspace, and roles are
 * those that lie in `roles` beside the store, where no sandbox reaches. Pure but for looking at
 * paths.
 */
#pragma once

#include "base/error.h"
#include "loop/spec.h"

struct json_object;

/** Where such a caller is confined to. */
struct start_rights {
    const char *workspace;  /**< the server's, absolute */
    const char *store_path; /**< file of the store, absolute; NULL = there are no such roles */
};

/**
 * Check the body of a start request against it, before anything that it names is read. A path to a
 * role is replaced by the real one.
 * @return 0, or RONDO_ERR_INVALID with the member that is refused and why
 */
int start_rights_check_body(const struct start_rights *rights, struct json_object *body,
                            struct rondo_error *err);
/** The same for what became of it; a folder may be another one by now. */
int start_rights_check_spec(const struct start_rights *rights, const struct loop_spec *spec,
                            struct rondo_error *err);

/**
 * Hold a run that somebody else may have started, with other rights, against it before it is
 * executed again: what runs without a sandbox, or with more than one gives, may be a file of the
 * server's workspace, where such a caller's own commands write.
 * @param spec its options now
 * @return 0, or RONDO_ERR_INVALID with what is refused
 */
int start_rights_check_again(const struct start_rights *rights, const struct loop_spec *spec,
                             struct rondo_error *err);
