// SPDX-License-Identifier: Apache-2.0
/* What `rondo doctor` finds of a store in a database. */
#pragma once

#include "cli/framework/examination.h"

struct store;

/** Add findings about the server: what loses commits, what it costs to ask, who else is there. */
void examine_database(struct examination *examination, struct store *store);
