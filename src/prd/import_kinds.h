// SPDX-License-Identifier: Apache-2.0
/* The parsers behind prd/import.h. Internal to src/prd. */
#pragma once

#include "prd/draft.h"

void prd_import_markdown(struct prd_draft *draft, const char *text, size_t len);
void prd_import_spec_kit(struct prd_draft *draft, const char *text, size_t len);
void prd_import_gherkin(struct prd_draft *draft, const char *text, size_t len);

/** Whether an item is a task of spec-kit: a box and an id such as T001. @param ret_len of the id */
bool prd_is_spec_kit_item(const struct prd_item *item, size_t *ret_len);
