// SPDX-License-Identifier: Apache-2.0
/*
 * Tables of secret places, and the search for files that only root may read. The search is bounded
 * for each entry of the folders: an entry with too much in it is hidden as a whole. Its result is
 * kept for a moment, under a mutex, because it costs as much as starting a command. That hides no
 * less: a file that appears later is visible to commands that run already in any case.
 */
#include "os/sandbox/secrets.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/host.h"
#include "os/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEARCH_DEPTH 64

static const char *const of_system[] = {
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/security/opasswd",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/docker",
    "/etc/wireguard",
    "/etc/cryptsetup-keys.d",
    "/etc/pve/priv",
};

/* Folders of the system that are visible and hold configuration. */
static const char *const searched[] = {"/etc", "/opt", "/usr/local/etc"};

/* Below the home folder: keys, tokens, sessions, histories. */
static const char *const hidden_in_home[] = {
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".oci",
    ".password-store",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".s3cfg",
    ".boto",
    ".vault-token",
    ".terraform.d",
    ".terraformrc",
    ".fly",
    ".kaggle",
    ".pki",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".huggingface",
    ".cache/huggingface/token",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".anthropic",
    ".openai",
    ".bitcoin",
    ".electrum",
    ".Xauthority",
    ".ICEauthority",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/keepassxc",
    ".config/rclone",
    ".config/doctl",
    ".config/containers",
    ".config/helm",
    ".config/composer/auth.json",
    ".config/anthropic",
    ".config/rondo",
    ".config/initrunner",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".mozilla",
    ".librewolf",
    ".zen",
    ".thunderbird",
    ".var/app",
    "snap",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/keepassxc",
    ".local/share/gnome-keyring",
    ".local/state/rondo",
    ".initrunner",
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".histfile",
    ".history",
    ".sh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".lesshst",
    ".viminfo",
};

/* Below the home folder: what shells, git, desktops and service managers execute. */
static const char *const read_only_in_home[] = {
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".inputrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".gitconfig",
    ".hgrc",
    ".gdbinit",
    ".lldbinit",
    ".vimrc",
    ".vim",
    ".emacs",
    ".emacs.d",
    ".tmux.conf",
    ".screenrc",
    ".forward",
    ".bin",
    "bin",
    ".local/bin",
    ".local/share/applications",
    ".local/share/systemd",
    ".config/git",
    ".config/fish",
    ".config/nvim",
    ".config/systemd",
    ".config/autostart",
    ".config/environment.d",
    ".config/direnv",
};

/* --- the search --- */

struct secret_paths {
    char **paths; /* owned */
    size_t count;
    size_t room;
};

/* What is left for one entry of a searched folder. */
struct budget {
    size_t entries;
    size_t paths;
};

static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct secret_paths kept;
static int64_t kept_since_ns;

static void found_add(struct secret_paths *found, const char *path)
{
    if (found->count == found->room) {
        found->room = found->room == 0 ? 32 : found->room * 2;
        found->paths = memory_resize(found->paths, found->room, sizeof(*found->paths));
    }
    found->paths[found->count++] = memory_dup_string(path);
}

static void found_cut(struct secret_paths *found, size_t count)
{
    while (found->count > count) {
        free(found->paths[--found->count]);
    }
}

static void cut_path(struct buf *path, size_t len)
{
    path->data[len] = '\0';
    path->len = len;
}

static bool search(struct secret_paths *found, struct budget *budget, int folder, struct buf *path,
                   int depth);

/** Look at one entry, whose path is in `path`. @return false when the budget is spent. */
static bool search_entry(struct secret_paths *found, struct budget *budget, int folder,
                         const char *name, struct buf *path, int depth)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(status.st_mode)) {
        return true;
    }
    if (budget->entries-- == 0) {
        return false;
    }
    bool is_folder = S_ISDIR(status.st_mode);
    mode_t needed = is_folder ? S_IROTH | S_IXOTH : S_IROTH;
    if ((status.st_mode & needed) != needed) {
        found_add(found, buf_string(path));
        return budget->paths-- > 0;
    }
    if (!is_folder) {
        return true;
    }
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || (depth < SEARCH_DEPTH && search(found, budget, fd, path, depth + 1));
}

/** Search a folder. Takes `fd` over. Depth is bounded, so that it may call itself. */
static bool search(struct secret_paths *found, struct budget *budget, int fd, struct buf *path,
                   int depth)
{
    DIR *entries = fdopendir(fd);
    struct dirent *entry;
    size_t len = path->len;
    bool is_complete = true;
    if (entries == NULL) {
        close(fd);
        return false;
    }
    while (is_complete && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            entry->d_type != DT_LNK) {
            buf_printf(path, "/%s", entry->d_name);
            is_complete = search_entry(found, budget, fd, entry->d_name, path, depth);
            cut_path(path, len);
        }
    }
    closedir(entries);
    return is_complete;
}

/** Search each entry of a folder on a budget of its own; one that exceeds it is hidden itself. */
static void search_top(struct secret_paths *found, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        auto_buf struct buf path = {0};
        struct budget budget = {LIMIT_SANDBOX_SEARCH_ENTRIES, LIMIT_SANDBOX_SEARCH_PATHS};
        size_t before = found->count;
        buf_printf(&path, "%s/%s", folder, entry->d_name);
        if (!search_entry(found, &budget, fd, entry->d_name, &path, 0)) {
            found_cut(found, before);
            found_add(found, buf_string(&path));
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

static void search_again_when_old(void)
{
    int64_t now_ns = clock_monotonic(clock_system());
    if (kept.paths != NULL && now_ns - kept_since_ns < SECRETS_AGE_NS) {
        return;
    }
    found_cut(&kept, 0);
    for (size_t i = 0; i < sizeof(searched) / sizeof(searched[0]); i++) {
        search_top(&kept, searched[i]);
    }
    kept_since_ns = now_ns;
}

void sandbox_secrets_of_system(secret_taker *take, void *context)
{
    for (size_t i = 0; i < sizeof(of_system) / sizeof(of_system[0]); i++) {
        take(context, of_system[i], SECRET_HIDDEN);
    }
    if (geteuid() != 0) {
        return;
    }
    pthread_mutex_lock(&kept_mutex);
    search_again_when_old();
    for (size_t i = 0; i < kept.count; i++) {
        take(context, kept.paths[i], SECRET_HIDDEN);
    }
    pthread_mutex_unlock(&kept_mutex);
}

/* --- the home folder --- */

static void take_table(const char *home, const char *const *table, size_t count,
                       enum secret_kind kind, secret_taker *take, void *context)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/", home);
    size_t len = path.len;
    for (size_t i = 0; i < count; i++) {
        buf_append_string(&path, table[i]);
        take(context, buf_string(&path), kind);
        cut_path(&path, len);
    }
}

void sandbox_secrets_of_home(const char *home, secret_taker *take, void *context)
{
    take_table(home, hidden_in_home, sizeof(hidden_in_home) / sizeof(hidden_in_home[0]),
               SECRET_HIDDEN, take, context);
    take_table(home, read_only_in_home, sizeof(read_only_in_home) / sizeof(read_only_in_home[0]),
               SECRET_READ_ONLY, take, context);
}

bool sandbox_secrets_shows_home(const char *workspace)
{
    auto_free char *home = host_home();
    auto_free char *canonical = home == NULL ? NULL : realpath(home, NULL);
    return canonical != NULL &&
           (strcmp(canonical, workspace) == 0 || path_is_below(canonical, workspace));
}
