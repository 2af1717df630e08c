// SPDX-License-Identifier: Apache-2.0
/* all opens: the user's own file in the user's own folder of settings. */
#include "forge/tea.h"

#include "base/arena.h"
#include "base/limits.h"
#include "forge/link.h"
#include "model/key/secret.h"
#include "os/file.h"
#include "role/yaml.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = yaml_get(map, key);
    return node != NULL && node->kind == YAML_TEXT && strlen(node->text) == node->len ? node->text
                                                                                      : "";
}

bool tea_find_token(const char *text, size_t len, const char *host, struct secret *ret_token)
{
    struct arena arena = {0};
    struct yaml_node *root = NULL;
    struct yaml_problem problem;
    bool is_found = false;
    if (yaml_read(text, len, 1, &arena, &root, &problem) == 0 && root != NULL &&
        root->kind == YAML_MAP) {
        const struct yaml_node *logins = yaml_get(root, "logins");
        size_t count = logins != NULL && logins->kind == YAML_LIST ? logins->count : 0;
        for (size_t i = 0; i < count && !is_found; i++) {
            const struct yaml_node *login = logins->items[i];
            if (login->kind == YAML_MAP && link_names_host(text_of(login, "url"), host) &&
                text_of(login, "token")[0] != '\0') {
                secret_set(ret_token, "", text_of(login, "token"));
                is_found = true;
            }
        }
    }
    arena_fini(&arena);
    return is_found;
}

bool tea_read_login(const struct forge_place *place, struct secret *ret_token)
{
    struct buf path = {0};
    struct buf text = {0};
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (folder != NULL && folder[0] == '/') {
        buf_printf(&path, "%s/tea/config.yml", folder);
    } else {
        buf_printf(&path, "%s/.config/tea/config.yml", home != NULL ? home : "");
    }
    bool is_found = file_read(buf_string(&path), LIMIT_CONFIG_FILE_BYTES, &text, NULL) == 0 &&
                    tea_find_token(buf_string(&text), text.len, place->host, ret_token);
    secret_fini_buf(&text);
    buf_fini(&path);
    return is_found;
}
