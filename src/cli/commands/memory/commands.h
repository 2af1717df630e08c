// SPDX-License-Identifier: Apache-2.0
/* The commands of the group `rondo memory`. */
#pragma once

#include "cli/framework/command.h"

int cmd_memory_list(const struct invocation *invocation);
int cmd_memory_search(const struct invocation *invocation);
int cmd_memory_show(const struct invocation *invocation);
int cmd_memory_add(const struct invocation *invocation);
int cmd_memory_forget(const struct invocation *invocation);
int cmd_memory_consolidate(const struct invocation *invocation);
int cmd_memory_export(const struct invocation *invocation);
int cmd_memory_import(const struct invocation *invocation);

extern const struct option_row memory_list_options[];
extern const struct option_row memory_search_options[];
extern const struct option_row memory_show_options[];
extern const struct option_row memory_add_options[];
extern const struct option_row memory_forget_options[];
extern const struct option_row memory_consolidate_options[];
extern const struct option_row memory_export_options[];
extern const struct option_row memory_import_options[];

/** The names of kinds, for options; the values are those of enum store_memory_kind plus 1. */
extern const struct option_choice memory_kind_choices[];

/** Bits of store_memory_query.kinds. @param choice of memory_kind_choices; 0 = all kinds */
uint32_t memory_kind_bits(int64_t choice);
