// SPDX-License-Identifier: Apache-2.0
#define STAND_KIND FORGE_GITEA
#include "standin_checks.h"
