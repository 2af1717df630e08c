// SPDX-License-Identifier: Apache-2.0
/* A box around lines, with a title in its upper and figures in its lower edge. Pure. */
#pragma once

#include "cli/terminal/style.h"

#include <stddef.h>

/** Narrower panels have a rule above and none at the sides. */
#define PANEL_COLUMNS_BOX 40
/** Panels do not grow wider: longer lines are hard to read. */
#define PANEL_COLUMNS_MAX 110

/** Texts are safe for terminals, may hold our colour sequences, and are borrowed. */
struct panel {
    const char *title;
    const char *subtitle; /**< NULL = none */
    const char *body;     /**< lines, each with a line end and of panel_body_columns() at most */
    enum colour colour;   /**< of the edge */
};

/** Columns for the body of a panel of that width. */
size_t panel_body_columns(size_t columns);

/** Append the panel's lines. What is too long is cut. @param columns of the whole, at least 10 */
void panel_render(const struct panel *panel, const struct style *style, size_t columns,
                  struct buf *ret_buf);
