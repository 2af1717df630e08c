// SPDX-License-Identifier: Apache-2.0
/* What cmocka wants included before itself. */
#pragma once

#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
