// SPDX-License-Identifier: Apache-2.0
/* Paths as text: nothing is looked up. */
#pragma once

#include <stdbool.h>

/** Whether the absolute `path` lies below `folder` (is not the same). Any thread. */
bool path_is_below(const char *path, const char *folder);
