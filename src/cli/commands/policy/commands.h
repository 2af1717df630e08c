// SPDX-License-Identifier: Apache-2.0
/* The commands of the group `rondo policy`. */
#pragma once

#include "cli/framework/command.h"

int cmd_policy_check(const struct invocation *invocation);
int cmd_policy_show(const struct invocation *invocation);
int cmd_policy_set(const struct invocation *invocation);
int cmd_policy_history(const struct invocation *invocation);
int cmd_policy_explain(const struct invocation *invocation);
int cmd_policy_test(const struct invocation *invocation);
int cmd_policy_profile(const struct invocation *invocation);
int cmd_policy_what_if(const struct invocation *invocation);

extern const struct option_row policy_check_options[];
extern const struct option_row policy_show_options[];
extern const struct option_row policy_set_options[];
extern const struct option_row policy_history_options[];
extern const struct option_row policy_explain_options[];
extern const struct option_row policy_test_options[];
extern const struct option_row policy_profile_options[];
extern const struct option_row policy_what_if_options[];
