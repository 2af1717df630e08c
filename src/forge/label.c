// SPDX-License-Identifier: Apache-2.0
/* Labels. Never by replacing all of them: what a person adds meanwhile would be lost. */
#include "forge/parts.h"

enum forge_end forge_ensure_label(struct forge *forge, const char *name, const char *color,
                                  const char *description)
{
    enum forge_end end = parts_check_name(forge, name);
    return end != FORGE_OK ? end : forge->ops->ensure_label(forge, name, color, description);
}

enum forge_end forge_has_label(struct forge *forge, const char *name, bool *ret_is_there)
{
    int64_t id = 0;
    enum forge_end end = parts_check_name(forge, name);
    end = end != FORGE_OK ? end : parts_find_label(forge, forge->root, name, &id);
    *ret_is_there = end == FORGE_OK && id != 0;
    return end;
}

enum forge_end forge_add_label(struct forge *forge, int64_t number, const char *label)
{
    enum forge_end end = parts_check_name(forge, label);
    return end != FORGE_OK ? end : forge->ops->add_label(forge, number, label);
}

enum forge_end forge_remove_label(struct forge *forge, int64_t number, const char *label)
{
    enum forge_end end = parts_check_name(forge, label);
    return end != FORGE_OK ? end : forge->ops->remove_label(forge, number, label);
}
