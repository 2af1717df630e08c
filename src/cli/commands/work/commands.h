// SPDX-License-Identifier: Apache-2.0
/* The commands of the group `rondo work`. */
#pragma once

#include "cli/framework/command.h"

int cmd_work_doctor(const struct invocation *invocation);
int cmd_work_list(const struct invocation *invocation);
int cmd_work_release(const struct invocation *invocation);
int cmd_work_retry(const struct invocation *invocation);
int cmd_work_status(const struct invocation *invocation);

extern const struct option_row work_doctor_options[];
extern const struct option_row work_list_options[];
extern const struct option_row work_request_options[];
extern const struct option_row work_status_options[];
