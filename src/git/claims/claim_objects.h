// SPDX-License-Identifier: Apache-2.0
/*
 * Where the objects of claims are: a folder beside git's own objects, because no reference leads to
 * them and thousands of them would make each `git gc` of the person complain. All of them can be
 * fetched again, so the folder is emptied when there are many.
 */
#pragma once

#include "git/connection.h"

struct git_claim_objects {
    int lock_fd;
    char *folder;
};

/**
 * Let the calls of a connection find the objects, and write theirs there.
 * @param ret_objects git_claim_objects_fini() after the last call
 * @return RONDO_ERR_BUSY when the folder is being emptied for very long
 */
int git_claim_objects_open(struct git_connection *connection, struct git_claim_objects *ret_objects,
                           struct rondo_error *err);
/** May empty the folder, if nobody else uses it now. */
void git_claim_objects_fini(struct git_claim_objects *objects);
