// SPDX-License-Identifier: Apache-2.0
#define STAND_KIND FORGE_GITLAB
#include "standin_checks.h"
