// SPDX-License-Identifier: Apache-2.0
/*
 * Signatures of requests with a token that has keys, and of the answers to them
 * (base/text/signing.h). The bytes of a body are verified before anything reads them. An id counts
 * once: the same one again is a repetition only with a later time and the same body, which who has
 * recorded a request cannot make. One thread at a time.
 *
 * Documents: `signature-id` (by day and id: its time and what it was of), for
 * LIMIT_SIGNATURE_ID_DAYS days.
 */
#pragma once

#include "server/call.h"

/** Verify the signature of a request, if it needs one or has one. @return false: a problem */
bool signatures_check(struct call *call);

/** Add the headers of a signature to an answer, if the caller has keys. */
void signatures_add(struct call *call);
