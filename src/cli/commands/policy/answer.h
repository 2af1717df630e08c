// SPDX-License-Identifier: Apache-2.0
/* The answer to a question to the policies, explained for people. */
#pragma once

#include "cli/terminal/style.h"
#include "policy/answer.h"

/** Append it for people. @param shows_all also policies whose scope does not match */
void policy_answer_text(struct policy_answer *answer, const struct style *style, bool shows_all,
                        struct buf *ret_text);
