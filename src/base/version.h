// SPDX-License-Identifier: Apache-2.0
/* The version of Rondo; set by the build. */
#pragma once

#ifndef RONDO_VERSION
#error "the build defines RONDO_VERSION"
#endif
