// SPDX-License-Identifier: Apache-2.0
#define STAND_KIND FORGE_GITHUB
#include "standin_checks.h"
