// SPDX-License-Identifier: Apache-2.0
/*
 * The functions and methods of Cedar's extension types: one table with names, argument counts and
 * what they do. Any thread.
 */
#pragma once

#include "policy/cedar/value/value.h"

/** @return index of a constructor or method, or -1 */
int cedar_function_find(const char *name, size_t len);
/** Whether it is a constructor, called as `name(x)`, not a method, called as `x.name()`. */
bool cedar_function_is_constructor(int function);
const char *cedar_function_name(int function);
/** Whether it is one of the four comparisons of decimals. */
bool cedar_function_is_decimal_order(int function);

/**
 * Call a function. A method's receiver is its first argument.
 * @param arena where an address is put
 * @return 0 or an enum cedar_failure_code; for CEDAR_FAIL_TYPE `*ret_value` is the wrong argument
 */
enum cedar_failure_code cedar_function_call(int function, const struct cedar_value *arguments,
                                            size_t count, struct arena *arena,
                                            struct cedar_value *ret_value);
