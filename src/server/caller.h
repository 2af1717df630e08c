// SPDX-License-Identifier: Apache-2.0
/*
 * Who sends a request: a token, or a program of this server's user on this machine. Each function
 * lets the request continue or has written a problem. Any thread, one for a call at a time.
 */
#pragma once

#include <stdbool.h>

struct call;

/**
 * Fill in the grant of a call; of several stores that of each which the caller reaches, and the
 * first one's.
 * @return false: the answer is a problem
 */
bool caller_identify(struct call *call);

/** Count the request for its caller's rate. @return false: the answer is a problem */
bool caller_check_rate(struct call *call);

/**
 * Of several stores choose the one that a request is for: by name, by its run, or the first.
 * @return false: the answer is a problem
 */
bool caller_choose_store(struct call *call);

/** Release the grants. */
void caller_fini(struct call *call);
