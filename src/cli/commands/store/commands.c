// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo store`. */
#include "cli/commands/store/commands.h"

const struct command store_commands[] = {
    {
        .name = "store check",
        .synopsis = "[OPTION...] [STORE]",
        .help = "Read all of a store and check it",
        .description =
            "Has the database check itself, and then reads everything as a resume would: each "
            "run's row, its journal from the first event to the last, its checkpoints with their "
            "digests, the history of policies, the documents and the memories. It names what is "
            "damaged and the run that has it. Nothing is changed, and runs may be active "
            "meanwhile. STORE is a file or the address of a database; without it, the store of "
            "--store is read. The exit code is 1 if something is "
            "damaged.",
        .examples = "rondo store check\tthe store of the working directory\n"
                    "rondo store check backup.db\ta backup, before it is needed\n"
                    "rondo store check postgresql://rondo@db.example/rondo\ta database",
        .options = store_check_options,
        .completes = COMPLETE_FILE,
        .run = cmd_store_check,
    },
    {
        .name = "store grant",
        .synopsis = "[OPTION...] ROLE",
        .help = "Let a role of the database use its store",
        .description =
            "Gives a role of a PostgreSQL database rights in the store there, in place of those "
            "that "
            "it has. A reader sees runs with their events, and budgets. A runner also creates and "
            "executes runs, and cannot change policies, sinks and tokens or delete runs. An "
            "operator "
            "can do all that. With --agents, the role sees and executes only runs of these agents; "
            "what all agents share (warnings, requests to people, requests to start runs) it "
            "neither "
            "reads nor changes, so it is for rondo run and rondo loop, not for a server. "
            "The database checks every access, and programs that are connected have the new rights "
            "at "
            "once. Only the owner of the schema can give rights. Create the role first "
            "(createuser).",
        .examples = "rondo store grant worker --as runner\tservers that execute all runs\n"
                    "rondo store grant team_a --as runner --agents 'a-*'\tonly agents of one team\n"
                    "rondo store grant auditor\tto read everything that is no secret",
        .options = store_grant_options,
        .run = cmd_store_grant,
    },
    {
        .name = "store grants",
        .synopsis = "[OPTION...]",
        .help = "List the rights of roles in a store",
        .description =
            "Lists the roles of a PostgreSQL database that have rights in the store there: "
            "name, kind of rights, and agents.",
        .examples = "rondo store grants --json",
        .options = store_grants_options,
        .run = cmd_store_grants,
    },
    {
        .name = "store copy",
        .synopsis = "[OPTION...] FROM TO",
        .help = "Copy all of a store into another one, also between SQLite and PostgreSQL",
        .description =
            "Copies everything that the store FROM holds into the store TO: runs with their "
            "journals, checkpoints and commands, documents, the history of policies, memories. "
            "FROM and TO are files or addresses of databases. All ids, numbers and positions "
            "stay the same. TO must be empty or not exist yet, and no run of FROM may be active; "
            "stop all servers and daemons of it. If the copying is interrupted, the same command "
            "continues it, and until it is finished no other command uses TO. At the end both are "
            "read again and compared by SHA-256 digests. The policies in force and the other "
            "files beside FROM (desks.yaml, entities and links, profiles) are put beside TO; what "
            "has to be copied by hand is listed. With --verify the two stores are only compared; "
            "the exit code is 1 if they differ.",
        .examples = "rondo store copy rondo.db postgresql://rondo@db.example/rondo\tto a database\n"
                    "rondo store copy \"$RONDO_STORE\" backup.db\ta database into a file\n"
                    "rondo store copy --verify a.db b.db\tare they the same?",
        .options = store_copy_options,
        .completes = COMPLETE_FILE,
        .run = cmd_store_copy,
    },
    {
        .name = "store migrate",
        .synopsis = "[OPTION...] [STORE]",
        .help = "Bring the schema of a store up to date",
        .description =
            "Brings the tables of a store to the version that this Rondo uses, in one transaction, "
            "and reports the old and the new version. A file is also brought up to date by every "
            "other command that opens it, and an older Rondo refuses it from then on: stop its "
            "processes first. A store in PostgreSQL is migrated by this command only, "
            "with the address of the owner of its schema; other commands of a newer Rondo refuse "
            "it until then. Programs of the version before can use it after most migrations, so "
            "servers can be replaced one by one; a migration after which they cannot is refused "
            "while they execute runs. A store that is newer "
            "than this Rondo stays as it is.",
        .examples = "rondo store migrate\tthe store of the working directory\n"
                    "rondo store migrate postgresql://rondo@db.example/rondo\ta database\n"
                    "rondo store migrate --json | jq .to\tfor programs",
        .options = store_migrate_options,
        .completes = COMPLETE_FILE,
        .run = cmd_store_migrate,
    },
    {
        .name = "store revoke",
        .synopsis = "[OPTION...] ROLE",
        .help = "Take a role's rights in a store",
        .description =
            "Takes all rights in the store from a role of its PostgreSQL database. The next "
            "access of programs that are connected as this role is refused.",
        .examples = "rondo store revoke team_a",
        .options = store_revoke_options,
        .run = cmd_store_revoke,
    },
    {0},
};
