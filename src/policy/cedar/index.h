// SPDX-License-Identifier: Apache-2.0
/*
 * Which policies can apply to a request. Each policy is filed once, under the part of its scope
 * that the fewest other policies share: a principal, a resource, actions, or a type; those whose
 * scope says nothing are looked at always. A request then looks under its principal, resource and
 * action, their ancestors and their types.
 */
#pragma once

#include "policy/cedar/evaluate.h"

struct policy_index;

/** Sets with fewer policies are faster without. A test has an index made for every set. */
#ifndef INDEX_FROM_POLICIES
#define INDEX_FROM_POLICIES 12
#endif

/** File the policies. @param arena the result lives there */
struct policy_index *policy_index_make(struct arena *arena, const struct policy *const *policies,
                                       uint32_t count);

/** Gets policies that may apply; a policy may come twice. */
typedef void policy_index_fn(uint32_t policy, void *context);

void policy_index_each(const struct policy_index *index, struct evaluation *evaluation,
                       policy_index_fn *fn, void *context);
