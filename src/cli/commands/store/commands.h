// SPDX-License-Identifier: Apache-2.0
/* The commands of the group `rondo store`. */
#pragma once

#include "cli/framework/command.h"

int cmd_store_check(const struct invocation *invocation);
int cmd_store_grant(const struct invocation *invocation);
int cmd_store_grants(const struct invocation *invocation);
int cmd_store_copy(const struct invocation *invocation);
int cmd_store_migrate(const struct invocation *invocation);
int cmd_store_revoke(const struct invocation *invocation);

extern const struct option_row store_check_options[];
extern const struct option_row store_grant_options[];
extern const struct option_row store_grants_options[];
extern const struct option_row store_copy_options[];
extern const struct option_row store_migrate_options[];
extern const struct option_row store_revoke_options[];
