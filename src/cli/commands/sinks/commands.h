// SPDX-License-Identifier: Apache-2.0
/* The commands of the group `rondo sinks`. */
#pragma once

#include "cli/framework/command.h"

int cmd_sinks_add(const struct invocation *invocation);
int cmd_sinks_list(const struct invocation *invocation);
int cmd_sinks_remove(const struct invocation *invocation);
int cmd_sinks_test(const struct invocation *invocation);
int cmd_sinks_deliveries(const struct invocation *invocation);
int cmd_sinks_retry(const struct invocation *invocation);

extern const struct option_row sinks_add_options[];
extern const struct option_row sinks_list_options[];
extern const struct option_row sinks_change_options[];
extern const struct option_row sinks_deliveries_options[];
