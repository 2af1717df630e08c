// SPDX-License-Identifier: Apache-2.0
/* An explained verdict, for people. */
#pragma once

#include "cli/terminal/style.h"
#include "policy/explanation.h"

/** Append it for people. @param shows_all also policies whose scope does not match */
void policy_explanation_text(struct policy_explanation *explanation, const struct style *style,
                             bool shows_all, struct buf *ret_text);
