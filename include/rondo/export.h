// SPDX-License-Identifier: Apache-2.0
/* Marks what librondo exports; everything else in it is hidden. */
#pragma once

#define RONDO_API __attribute__((visibility("default")))
